"""Point the real CLIs at the rehearsal model, and keep them from reaching anything else."""

REHEARSING = "CULTURE_REHEARSING"


def environment(url: str) -> dict[str, str]:
    """Return the variables of a process that rehearses. They win over a person's key, login and proxy."""
    return {
        # Tells our own programs that what the CLI takes for its cost is not.
        REHEARSING: "1",
        "ANTHROPIC_BASE_URL": url,
        # The CLI wants one; nobody checks it.
        "ANTHROPIC_API_KEY": "rehearsal",
        # Empty is unset for the CLI. Each of these would lead past the base URL, to a model that costs.
        "ANTHROPIC_AUTH_TOKEN": "",
        "CLAUDE_CODE_OAUTH_TOKEN": "",
        "CLAUDE_CODE_USE_BEDROCK": "",
        "CLAUDE_CODE_USE_VERTEX": "",
        "CLAUDE_CODE_USE_FOUNDRY": "",
        # No telemetry, no updates, no titles: not even a name is looked up.
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": "rehearsal",
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_API_KEY": "rehearsal",
        "COPILOT_MODEL": "rehearsal",
        # A script that fails on purpose is seen to fail in seconds.
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "NO_PROXY": "127.0.0.1,localhost,::1",
        "no_proxy": "127.0.0.1,localhost,::1",
    }
