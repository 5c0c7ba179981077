"""The IRCv3 capabilities that this server offers."""

from enum import StrEnum


class Cap(StrEnum):
    ACCOUNT_NOTIFY = "account-notify"
    ACCOUNT_REGISTRATION = "draft/account-registration"
    ACCOUNT_TAG = "account-tag"
    AWAY_NOTIFY = "away-notify"
    BATCH = "batch"
    CAP_NOTIFY = "cap-notify"
    ECHO_MESSAGE = "echo-message"
    EXTENDED_JOIN = "extended-join"
    EXTENDED_MONITOR = "extended-monitor"
    INVITE_NOTIFY = "invite-notify"
    LABELED_RESPONSE = "labeled-response"
    MESSAGE_TAGS = "message-tags"
    MULTI_PREFIX = "multi-prefix"
    PRE_AWAY = "draft/pre-away"
    SASL = "sasl"
    SERVER_TIME = "server-time"
    SETNAME = "setname"
    STANDARD_REPLIES = "standard-replies"
    STS = "sts"
    USERHOST_IN_NAMES = "userhost-in-names"


CAPS: frozenset[str] = frozenset(Cap)
