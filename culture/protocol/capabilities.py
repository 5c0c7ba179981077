"""The IRCv3 capabilities that this server offers."""

from enum import StrEnum


class Cap(StrEnum):
    CAP_NOTIFY = "cap-notify"
    ECHO_MESSAGE = "echo-message"
    MESSAGE_TAGS = "message-tags"
    MULTI_PREFIX = "multi-prefix"
    SERVER_TIME = "server-time"
    STANDARD_REPLIES = "standard-replies"
    USERHOST_IN_NAMES = "userhost-in-names"


CAPS: frozenset[str] = frozenset(Cap)
