"""Find the files of an agent of this host, whether it runs or not."""

import os
from pathlib import Path

from culture.agent.backend.environment import agent_state_directory
from culture.config import paths
from culture.errors import NotAllowedError
from culture.store.agent.file import FILE


def state_directory(nick: str) -> Path | None:
    """Return the state directory of an agent, whoever runs it; None if it has no file yet."""
    places = (agent_state_directory(nick, os.environ), paths.SYSTEM_STATE / "agents" / nick)
    try:
        return next((place for place in places if (place / FILE).exists()), None)
    except PermissionError as error:
        hint = "run it as root or as the agent's user"
        raise NotAllowedError(f"'{error.filename}' cannot be read", hint=hint) from None
