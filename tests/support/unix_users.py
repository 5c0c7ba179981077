"""Connections of different Unix users of this machine, in one process."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from culture.config.agents import AgentUser
from culture.net.auth.agent_users import AgentUsers
from support.irc import Plain
from support.requirement import unable

IS_ROOT: Final = os.geteuid() == 0
# Only root can be somebody else; for others the agent has their own user, and nobody else can be tried.
AGENT_UID: Final = 61001 if IS_ROOT else os.getuid()
OTHER_AGENT_UID: Final = 61002
PERSON_UID: Final = 61003
PASSWD: Final = f"""root:x:0:0:root:/root:/bin/sh
culture-spark-claude:x:{AGENT_UID}:61000:Culture agent:/:/usr/sbin/nologin
culture-spark-codex:x:{OTHER_AGENT_UID}:61000:Culture agent:/:/usr/sbin/nologin
culture-team:x:61010:61000::/:/usr/sbin/nologin
ori:x:{PERSON_UID}:{PERSON_UID}:Ori:/home/ori:/bin/bash
"""


def agent_users(
    directory: Path, *agents: AgentUser, passwd: str = PASSWD, agents_file: Path | None = None
) -> AgentUsers:
    """As on a host with these users. The server itself runs as root."""
    (directory / "passwd").write_text(passwd)
    return AgentUsers("spark", agents, agents_file=agents_file, passwd=directory / "passwd", own_uid=0)


@contextlib.contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """Sockets that are made and connected meanwhile are this user's."""
    if uid == os.geteuid():
        yield
        return
    if not IS_ROOT:
        unable("only root can act as another user")
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


def opened_as(uid: int, where: str | tuple[str, int], family: int = 0) -> socket.socket:
    """A connected socket of this user, to a path or an address."""
    with acting_as(uid):
        kind = family or (socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        sock = socket.socket(kind, socket.SOCK_STREAM)
        sock.connect(where)
    sock.setblocking(False)
    return sock


async def connected_as(uid: int, where: str | tuple[str, int], family: int = 0) -> Plain:
    return Plain(*await asyncio.open_connection(sock=opened_as(uid, where, family)))
