"""What each command is for: HELP tells it, and the reference page is made of it."""

from typing import Final, NamedTuple


class Entry(NamedTuple):
    forms: str
    """What stands behind the command; ` | ` between one form and another."""
    purpose: str
    details: str = ""
    """For the page alone, in Markdown."""
    is_for_people: bool = True
    """What only programs type is no subject for HELP."""


MANUAL: Final[dict[str, Entry]] = {
    "ADMIN": Entry("[server]", "Who runs this server.", "The lines of `admin`."),
    "AUTHENTICATE": Entry(
        "mechanism | base64 | + | *",
        "Logs in to an account (SASL), before registration or later.",
        is_for_people=False,
    ),
    "AWAY": Entry(
        "[:text]",
        "Tells others that you are away, or without a text that you are back.",
        "With `draft/pre-away` also before registration.",
    ),
    "BATCH": Entry(
        "+reference draft/multiline target | -reference",
        "Opens and closes a message of several lines.",
        "Each is a PRIVMSG or NOTICE with the tag `batch`.",
        is_for_people=False,
    ),
    "CAP": Entry("LS [302] | LIST | REQ :caps | END", "Negotiates the capabilities of your client."),
    "CHGHOST": Entry(
        "nick user host",
        "Changes what stands behind a nick. For operators of the server.",
        "The privilege is `chghost`.",
    ),
    "CONNECT": Entry(
        "host",
        "Connects to another host now. For operators of the server.",
        "The privilege is `link`. The host is one of `links`.",
    ),
    "ERROR": Entry("", "Ignored from clients.", is_for_people=False),
    "HELP": Entry("[command]", "What a command does.", "Without one: which there are."),
    "HELPINDEX": Entry("", "Which commands there are.", is_for_people=False),
    "HELPOP": Entry("[command]", "As HELP.", is_for_people=False),
    "INFO": Entry("[server]", "What this server is, and since when it runs."),
    "INVITE": Entry("[nick #a]", "Invites somebody to a channel, or lists your invitations."),
    "ISON": Entry("nick ...", "Which of these people are here."),
    "ISUPPORT": Entry(
        "",
        "What this server supports, for your client to read.",
        "With `draft/extended-isupport` also before registration.",
        is_for_people=False,
    ),
    "JOIN": Entry(
        "#a,#b [key,key] | 0",
        "Joins channels. JOIN 0 leaves all of them.",
        "The first in a channel is its operator.",
    ),
    "KICK": Entry(
        "#a nick,nick [:reason] | #a,#b nick,nick [:reason]",
        "Removes people from a channel of yours, or each from one of their own.",
    ),
    "KILL": Entry(
        "nick :reason",
        "Closes somebody's connection. For operators of the server.",
        "The privilege is `kill`.",
    ),
    "LINKS": Entry(
        "[[server] mask]",
        "The hosts of this network.",
        "Each with the one before it on the way there, and how many links away it is.",
    ),
    "LIST": Entry(
        "[#a,*b*] [!*c*,>n,<n,C>n,C<n,T>n,T<n]",
        "Channels, with size and topic.",
        "By name or mask, not by `!mask`, with more or fewer users than `n`, made (`C`) or with a topic set "
        "(`T`) more or less than `n` minutes ago. All of it may be one list.",
    ),
    "LUSERS": Entry("", "How many people are here."),
    "MAP": Entry("", "The hosts of this network as a tree, and how many users are on each."),
    "MARKREAD": Entry(
        "target [timestamp=…]",
        "How far you have read a channel, or what a nick wrote.",
        "It only moves forward, and up to now.",
        is_for_people=False,
    ),
    "METADATA": Entry(
        "target GET key ... | target LIST | target SET key [:value] | target CLEAR | target SYNC "
        "| * SUB key ... | * UNSUB key ... | * SUBS",
        "What you, others and channels publish of themselves.",
        "`*` is oneself. [More](#metadata).",
    ),
    "MODE": Entry(
        "target [changes [parameters]]",
        "Shows or changes the modes of a channel, or yours.",
        "There are [channel modes](#channel-modes), and the user modes `B` (a bot), `R` (messages from "
        "accounts only), `i`, `o`, `w`.",
    ),
    "MONITOR": Entry("+ nick,nick | - nick,nick | C | L | S", "Tells you when people come and go."),
    "MOTD": Entry("[server]", "The message of the day."),
    "NAMES": Entry("[#a,#b]", "Who is in a channel."),
    "NICK": Entry(
        "nick",
        "Changes your nick.",
        "With USER, registers. On a host with `nick_policy: prefixed` it is `<host>-<name>`.",
    ),
    "NOTICE": Entry("target,target :text", "As PRIVMSG, and never answered by a program."),
    "OPER": Entry("name [password]", "Makes you an operator of the server."),
    "PART": Entry("#a,#b [:reason]", "Leaves channels."),
    "PASS": Entry("password", "Before registration, where the server asks for one.", is_for_people=False),
    "PING": Entry("token", "Answered by PONG with the same token."),
    "PONG": Entry("token", "The answer to the server's PING.", is_for_people=False),
    "PRIVMSG": Entry("target,target :text", "Says something to channels and people. @nick calls one."),
    "QUIT": Entry("[:reason]", "Ends your connection.", "Answered by ERROR."),
    "REDACT": Entry(
        "target msgid [:reason]",
        "Takes a message back: one of yours, or anybody's in a channel that you moderate.",
        is_for_people=False,
    ),
    "REGISTER": Entry(
        "* * :password | nick * :password",
        "Makes an account that is called as you are, and logs in to it.",
        "An address of mail may stand in the place of the second `*`; nothing is sent there.",
    ),
    "REHASH": Entry(
        "",
        "Lets the server read its configuration again. For operators of the server.",
        "The privilege is `rehash`. What is wrong with the file is told (`FAIL REHASH CONFIG_BAD`).",
    ),
    "RELAYMSG": Entry(
        "#a nick/there :text",
        "Says what somebody said elsewhere, under their name.",
        "For bridges that are operators of the channel, or operators with `relaymsg` in it.",
        is_for_people=False,
    ),
    "RENAME": Entry(
        "#a #b [:reason]",
        "Gives a channel of yours another name.",
        "All that is in it stays. A large channel only now and then.",
    ),
    "SERVER": Entry(
        "name version :description",
        "Opens a link between two hosts, behind PASS.",
        "See `culture/protocol/extensions/links.md`.",
        is_for_people=False,
    ),
    "SETNAME": Entry(":real name", "Changes your real name."),
    "SQUIT": Entry(
        "host [:reason]",
        "Closes the link to another host. For operators of the server.",
        "The privilege is `link`. It is not opened again by this host until somebody sends `CONNECT`.",
    ),
    "STATS": Entry(
        "u | m | l | o",
        "How long this server has been up, or how often which command was sent; for operators, STATS l: what "
        "each connection carried, and STATS o: who can be one.",
        "Of other letters only the end.",
    ),
    "SUMMON": Entry("user", "Calls nobody here from a terminal.", is_for_people=False),
    "TAGMSG": Entry("target,target", "Sends tags without a text.", "To readers with `message-tags`."),
    "TIME": Entry("[server]", "What time it is here."),
    "TOPIC": Entry("#a [:text]", "Shows or sets the topic of a channel.", "An empty text clears it."),
    "USER": Entry("name 0 * :real name", "With NICK, registers.", is_for_people=False),
    "USERHOST": Entry("nick ...", "Where up to five people come from.", "`-` is away, `*` an operator."),
    "USERS": Entry("[server]", "Who is logged in to the machine is not told.", is_for_people=False),
    "VERIFY": Entry("account code", "No account waits for a code here.", is_for_people=False),
    "VERSION": Entry("[server]", "The version of this server, and what it supports."),
    "WALLOPS": Entry(
        ":text",
        "To everyone with user mode w. For operators of the server.",
        "The privilege is `wallops`.",
    ),
    "WHO": Entry(
        "[mask [o][%fields[,token]]]",
        "Finds people by channel, nick or mask.",
        "Masks have `*` and `?`. Operators only with `o`; the fields `tcuihsnfdlaor` (WHOX). Addresses are "
        "not told. A mask finds at most 1,000 people, and all for operators of the server.",
    ),
    "WHOIS": Entry("[server] nick,nick", "Who somebody is, in which channels, and idle since when."),
    "WHOWAS": Entry(
        "nick,nick [count [server]]",
        "Who had a nick before.",
        "The last 1,000 who left or took another are remembered.",
    ),
}
