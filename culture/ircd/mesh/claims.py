"""What another host says is believed, but not what nobody can be called: clients are told all of it."""

from typing import Final

from culture.names import has_prefix, is_channel, is_nick
from culture.protocol.happening import SOURCE_LENGTH, Happening

_IN_CHANNELS: Final = frozenset(
    {
        *("ENTER", "INVITE", "JOIN", "KICK", "KNOWN", "LEFT"),
        *("MEMBERS", "MODE", "PART", "RENAME", "TOPIC"),
    }
)


def check_event(it: Happening) -> None:
    """Raises ValueError, as all here."""
    if it.command in _IN_CHANNELS:
        channel_named(it.target)
    match it.command:
        case "RENAME":
            channel_named(it.params[0])
        case "NICK" | "NAMED" if not (is_nick(it.text) and has_prefix(it.text, it.origin)):
            raise ValueError(f"'{it.text}' is no nick of '{it.origin}'")
        case "CHGHOST":
            check_user(it.source.partition("!")[0], *it.params)
        case "ACCOUNT" if " " in it.text:
            raise ValueError(f"'{it.text}' is no account")


def check_user(nick: str, username: str, host: str) -> None:
    if not is_nick(nick) or len(f"{nick}!{username}@{host}") > SOURCE_LENGTH:
        raise ValueError(f"nobody is called '{nick}!{username}@{host}'")


def channel_named(name: str) -> str:
    if not is_channel(name):
        raise ValueError(f"'{name}' is no channel")
    return name
