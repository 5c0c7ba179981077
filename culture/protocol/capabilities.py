"""The IRCv3 capabilities that this server offers."""

from enum import StrEnum


class Cap(StrEnum):
    """A capability by its name in `CAP LS`."""

    # Somebody in a shared channel logs in or out.
    ACCOUNT_NOTIFY = "account-notify"
    # `REGISTER` and `VERIFY` create an account, also before registration; offered if `accounts.registration`.
    ACCOUNT_REGISTRATION = "draft/account-registration"
    # The account of the sender on every message.
    ACCOUNT_TAG = "account-tag"
    # Somebody in a shared channel goes away or comes back.
    AWAY_NOTIFY = "away-notify"
    # Groups of lines that belong together.
    BATCH = "batch"
    # Implied by `CAP LS 302`.
    CAP_NOTIFY = "cap-notify"
    # A channel gets another name; clients without it see a `PART` and a `JOIN`.
    CHANNEL_RENAME = "draft/channel-rename"
    # `CHATHISTORY`, with the tag `draft/chathistory-end` on the last page; offered with the skill `history`,
    # as `draft/event-playback` and `draft/message-redaction`.
    CHATHISTORY = "draft/chathistory"
    # Somebody's user or host name changes; clients without it see a `QUIT` and a `JOIN`.
    CHGHOST = "chghost"
    # One's own messages come back as others see them.
    ECHO_MESSAGE = "echo-message"
    # Joins, parts, modes and other events in the replies of `CHATHISTORY`.
    EVENT_PLAYBACK = "draft/event-playback"
    # `ISUPPORT` also before registration; its reply is a batch if the client has `batch`.
    EXTENDED_ISUPPORT = "draft/extended-isupport"
    # Account and real name of a user who joins.
    EXTENDED_JOIN = "extended-join"
    # `away-notify`, `account-notify`, `chghost` and `setname` also for the nicks that one monitors.
    EXTENDED_MONITOR = "extended-monitor"
    # `HALT` and `UNHALT` from the server: whether agents are halted, at registration and on every change.
    HALT = "agentirc.dev/halt"
    # Invitations to a channel one is in.
    INVITE_NOTIFY = "invite-notify"
    # The label of a command on its reply.
    LABELED_RESPONSE = "labeled-response"
    # `REDACT`, and notice of redacted messages.
    MESSAGE_REDACTION = "draft/message-redaction"
    # Msgid, client-only tags, `TAGMSG`, and the tag for mentions.
    MESSAGE_TAGS = "message-tags"
    # `METADATA`, also before registration, and changes of the keys that one subscribed to. The value has the
    # limits (`limits.metadata_*`).
    METADATA = "draft/metadata-3"
    # The former name of `draft/metadata-3`; a client may not request both.
    METADATA_2 = "draft/metadata-2"
    # Messages of several lines; the value has the limits in bytes and lines. Clients without it get single
    # lines.
    MULTILINE = "draft/multiline"
    # All of a member's prefixes in NAMES, WHO and WHOIS.
    MULTI_PREFIX = "multi-prefix"
    # No NAMES on `JOIN` unless asked for.
    NO_IMPLICIT_NAMES = "no-implicit-names"
    # No NAMES on `JOIN` unless asked for.
    NO_IMPLICIT_NAMES_DRAFT = "draft/no-implicit-names"
    # `AWAY` before registration.
    PRE_AWAY = "draft/pre-away"
    # Read markers: sent on `JOIN`, on login, and when another connection of the account moves one.
    READ_MARKER = "draft/read-marker"
    # `RELAYMSG`; the value is the separator in relayed nicks; the tag `draft/relaymsg` has the nick of the
    # bridge.
    RELAYMSG = "draft/relaymsg"
    # Login by `PLAIN`, `SCRAM-SHA-256`, `EXTERNAL` (a client certificate, if `tls.client_certificates` is
    # set) or `OAUTHBEARER` (if `oidc` is set), as far as `accounts.authenticators` allows.
    SASL = "sasl"
    # A time tag on every line.
    SERVER_TIME = "server-time"
    # Somebody changes their real name.
    SETNAME = "setname"
    # `FAIL`, `WARN` and `NOTE` for errors without a numeric.
    STANDARD_REPLIES = "standard-replies"
    # The TLS port and how long to use only TLS; shown by `CAP LS 302` if configured, and cannot be requested.
    STS = "sts"
    # `nick!user@host` in `NAMES`.
    USERHOST_IN_NAMES = "userhost-in-names"


CAPS: frozenset[str] = frozenset(Cap)
