from culture.rehearsal.environment import environment


def test_the_cli_is_pointed_at_the_model_and_at_nothing_that_costs():
    env = environment("http://127.0.0.1:8645")

    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8645"
    assert env["ANTHROPIC_API_KEY"]
    assert env["OPENAI_BASE_URL"] == env["COPILOT_PROVIDER_BASE_URL"] == "http://127.0.0.1:8645/v1"
    for name in ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"):
        assert env[name] == ""
