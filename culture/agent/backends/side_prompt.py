"""The prompt of a side session that does not share the context of the agent's session."""


def side_prompt(background: str, prompt: str) -> str:
    """Return a prompt that contains a summary of what the agent did so far."""
    if not background.strip():
        return prompt
    return (
        "You are asked about work that you do in another session. This is what happened there so far:\n\n"
        f"{background.strip()}\n\n"
        f"Answer this from what you know of it. You have no tools here.\n\n{prompt}"
    )
