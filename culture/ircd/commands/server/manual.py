"""The manual of all commands, for HELP and for docs/reference/irc.md."""

from typing import Final, NamedTuple


class HelpEntry(NamedTuple):
    """The syntax and purpose of one command."""

    # The parameters; ` | ` separates alternative forms.
    forms: str
    purpose: str
    # Markdown for the reference page only.
    details: str = ""
    # HELP omits commands that only programs send.
    is_for_people: bool = True


MANUAL: Final[dict[str, HelpEntry]] = {
    "ADMIN": HelpEntry("[server]", "Shows who runs this server.", "The lines of `admin`."),
    "AUTHENTICATE": HelpEntry(
        "mechanism | base64 | + | *",
        "Logs in to an account (SASL), before registration or later.",
        is_for_people=False,
    ),
    "AWAY": HelpEntry(
        "[:text]",
        "Tells others that you are away, or without a text that you are back.",
        "With `draft/pre-away` also before registration.",
    ),
    "BATCH": HelpEntry(
        "+reference draft/multiline target | -reference",
        "Opens and closes a message of several lines.",
        "Each is a PRIVMSG or NOTICE with the tag `batch`.",
        is_for_people=False,
    ),
    "CAP": HelpEntry("LS [302] | LIST | REQ :caps | END", "Negotiates the capabilities of your client."),
    "CHGHOST": HelpEntry(
        "nick user host",
        "Changes the user name and host of a user. For operators of the server.",
        "The privilege is `chghost`.",
    ),
    "CONNECT": HelpEntry(
        "host",
        "Connects to another host now. For operators of the server.",
        "The privilege is `link`. The host is one of `links`.",
    ),
    "ERROR": HelpEntry("", "Ignored from clients.", is_for_people=False),
    "HALT": HelpEntry(
        "host|mesh [:reason]",
        "Stops all agents of this host, or of all linked hosts. For operators of the server.",
        "The privilege is `halt`. Also for root, before registration.",
    ),
    "HELP": HelpEntry("[command]", "Explains a command.", "Without one, lists all commands."),
    "HELPINDEX": HelpEntry("", "Lists all commands.", is_for_people=False),
    "HELPOP": HelpEntry("[command]", "The same as HELP.", is_for_people=False),
    "INFO": HelpEntry("[server]", "Shows what this server is and when it started."),
    "INVITE": HelpEntry("[nick #a]", "Invites somebody to a channel, or lists your invitations."),
    "ISON": HelpEntry("nick ...", "Shows which of these users are online."),
    "ISUPPORT": HelpEntry(
        "",
        "Shows what this server supports, for your client to read.",
        "With `draft/extended-isupport` also before registration.",
        is_for_people=False,
    ),
    "JOIN": HelpEntry(
        "#a,#b [key,key] | 0",
        "Joins channels. JOIN 0 leaves all of them.",
        "Whoever creates a channel becomes its operator.",
    ),
    "KICK": HelpEntry(
        "#a nick,nick [:reason] | #a,#b nick,nick [:reason]",
        "Removes users from a channel that you moderate, or one user from each of several.",
    ),
    "KILL": HelpEntry(
        "nick :reason",
        "Closes somebody's connection. For operators of the server.",
        "The privilege is `kill`.",
    ),
    "LINKS": HelpEntry(
        "[[server] mask]",
        "Lists the hosts of this network.",
        "Each with the previous host on the route to it and its distance in links.",
    ),
    "LIST": HelpEntry(
        "[#a,*b*] [!*c*,>n,<n,C>n,C<n,T>n,T<n]",
        "Lists channels with size and topic.",
        "By name or mask, except `!mask`; with more or fewer users than `n`; created (`C`) or with a topic "
        "set (`T`) more or less than `n` minutes ago. All conditions may be in one list.",
    ),
    "LUSERS": HelpEntry("", "Shows how many users are online."),
    "MAP": HelpEntry("", "Shows the hosts of this network as a tree, with the number of users on each."),
    "MARKREAD": HelpEntry(
        "target [timestamp=…]",
        "Shows or moves the marker up to which you have read a channel or a conversation.",
        "It only moves forward, and not beyond the current time.",
        is_for_people=False,
    ),
    "METADATA": HelpEntry(
        "target GET key ... | target LIST | target SET key [:value] | target CLEAR | target SYNC | *ALL SYNC "
        "| * SUB key ... | * UNSUB key ... | * SUBS",
        "Reads and sets the keys that users and channels publish.",
        "`*` is yourself. [More](#metadata).",
    ),
    "MODE": HelpEntry(
        "target [changes [parameters]]",
        "Shows or changes the modes of a channel, or yours.",
        "There are [channel modes](#channel-modes), and the user modes `B` (a bot), `R` (messages from "
        "accounts only), `i`, `o`, `w`.",
    ),
    "MONITOR": HelpEntry("+ nick,nick | - nick,nick | C | L | S", "Tells you when people come and go."),
    "MOTD": HelpEntry("[server]", "Shows the message of the day."),
    "NAMES": HelpEntry("[#a,#b]", "Lists the members of a channel."),
    "NICK": HelpEntry(
        "nick",
        "Changes your nick.",
        "With USER, registers. On a host with `nick_policy: prefixed` it is `<host>-<name>`.",
    ),
    "NOTICE": HelpEntry("target,target :text", "The same as PRIVMSG, but programs never answer it."),
    "OPER": HelpEntry("name [password]", "Makes you an operator of the server."),
    "PART": HelpEntry("#a,#b [:reason]", "Leaves channels."),
    "PASS": HelpEntry(
        "password", "Gives the server's password before registration, if it has one.", is_for_people=False
    ),
    "PING": HelpEntry("token", "Asks the server for a PONG with the same token."),
    "PONG": HelpEntry("token", "Answers the server's PING.", is_for_people=False),
    "PRIVMSG": HelpEntry(
        "target,target :text", "Sends a message to channels and users. @nick or nick: mentions a user."
    ),
    "QUIT": HelpEntry("[:reason]", "Ends your connection.", "Answered by ERROR."),
    "REDACT": HelpEntry(
        "target msgid [:reason]",
        "Deletes a message: one of yours, or anybody's in a channel that you moderate.",
        is_for_people=False,
    ),
    "REGISTER": HelpEntry(
        "* * :password | nick * :password",
        "Creates an account with your nick as its name, and logs in to it.",
        "The second `*` may be an e-mail address, and must be one with `accounts.email_required`; no mail is "
        "sent.",
    ),
    "REHASH": HelpEntry(
        "",
        "Reloads the server's configuration. For operators of the server.",
        "The privilege is `rehash`. Errors in the file are reported as `FAIL REHASH CONFIG_BAD`.",
    ),
    "RELAYMSG": HelpEntry(
        "#a nick/there :text",
        "Relays a message of another network under its author's name.",
        "For bridges that are operators of the channel, or members with the operator privilege `relaymsg`.",
        is_for_people=False,
    ),
    "RENAME": HelpEntry(
        "#a #b [:reason]",
        "Renames a channel of which you are an operator.",
        "Members and settings stay. A large channel can be renamed only now and then.",
    ),
    "SERVER": HelpEntry(
        "name version nonce",
        "Opens a link between two hosts.",
        "See `culture/protocol/extensions/links.md`.",
        is_for_people=False,
    ),
    "SETNAME": HelpEntry(":real name", "Changes your real name."),
    "SQUIT": HelpEntry(
        "host [:reason]",
        "Closes the link to another host. For operators of the server.",
        "The privilege is `link`. This host does not open it again until somebody sends `CONNECT`.",
    ),
    "STATS": HelpEntry(
        "u | m | l | o",
        "Shows uptime (u) or command counts (m); for operators also connections (l) and operators (o).",
        "Other letters have an empty reply.",
    ),
    "SUMMON": HelpEntry("user", "Is disabled.", is_for_people=False),
    "TAGMSG": HelpEntry(
        "target,target", "Sends tags without a text.", "Only clients with `message-tags` get them."
    ),
    "TIME": HelpEntry("[server]", "Shows the server's time."),
    "TOPIC": HelpEntry("#a [:text]", "Shows or sets the topic of a channel.", "An empty text clears it."),
    "UNHALT": HelpEntry(
        "host|mesh [:reason]",
        "Lets agents work again. For operators of the server.",
        "The privilege is `halt`. Also for root, before registration.",
    ),
    "USER": HelpEntry("name 0 * :real name", "With NICK, registers.", is_for_people=False),
    "USERHOST": HelpEntry(
        "nick ...", "Shows the hosts of up to five users.", "`-` is away, `*` an operator."
    ),
    "USERS": HelpEntry("[server]", "Is disabled.", is_for_people=False),
    "VERIFY": HelpEntry(
        "account code", "Always fails, because no account needs a code.", is_for_people=False
    ),
    "VERSION": HelpEntry("[server]", "Shows the version of this server and what it supports."),
    "WALLOPS": HelpEntry(
        ":text",
        "Sends a text to all users with mode w. For operators of the server.",
        "The privilege is `wallops`.",
    ),
    "WHO": HelpEntry(
        "[mask [o][%fields[,token]]]",
        "Lists users by channel, nick or mask.",
        "Masks have `*` and `?`. `o` lists only operators; `%` selects fields of `tcuihsnfdlaor` (WHOX). "
        "Addresses are hidden. A mask finds at most 1,000 users, or all for operators of the server.",
    ),
    "WHOIS": HelpEntry(
        "[server] nick,nick", "Shows who a user is, in which channels, and for how long idle."
    ),
    "WHOWAS": HelpEntry(
        "nick,nick [count [server]]",
        "Shows who used a nick before.",
        "The server remembers the last 1,000 users who left or changed their nick.",
    ),
}
