"""What clients have to say: names and words that mean something to the server, and some that do not."""

from typing import Final

from support.fuzz.configs import ACCOUNT, OPER, PASSWORD

NICKS: Final = ("a", "b", "c[]", "d", "e|f", "g-h", "A", "C{}", "E\\F")
NICKS_ODD: Final = ("9", "", "*", "x" * 64, "y" * 65, "é", "spark", ",")
CHANNELS: Final = ("#x", "#y", "#{z}", "#X", "#[Z]")
CHANNELS_ODD: Final = ("#", "x", "#" + "w" * 63, "#" + "w" * 70, "#é", "0", "@#x", "+#y", "&l", "")
MODES: Final = (
    *("+o", "-o", "+v-v", "+h", "+mnt", "-nt", "-m", "+b", "-b", "+eI", "b", "beI", "+k", "-k", "+l", "-l"),
    *("+is", "-is", "-i", "+CMR", "-CMR", "-R", "+kl", "+ovh", "+BRiow", "-iw", "+bbbbbb", "+kkl", "-bbb"),
    *("+", "-", "+Z"),
)
MASKS: Final = (
    "*",
    "a!*@*",
    "~a:a",
    "~m:b",
    "~a:",
    "*!*@spark",
    "b",
    "~m:~a:a",
    "!",
    "@",
    "2",
    "5",
    "-1",
    "k,y",
)
TEXTS: Final = (
    *("hi", "", " ", "@a @b @C{}", "`@a`", "@a@b", "é" * 250, "☃"),
    *("\x01ACTION x\x01", "\x01PING\x01"),
)
BITS: Final = (
    *("+", "+", "-", "C", "L", "S", "LS", "LIST", "REQ", "END", "302"),
    *("o%tcuihsnflar,42", "%n", ">1,!*y", "C<1"),
)
KEYS: Final = ("avatar", "display-name", "state", "x" * 80, "é", "*")
LABEL: Final = "label="
TAGS: Final = (
    *(LABEL, LABEL, "+typing=active", "+draft/reply=m1", "+x=\\s\\:", "+y=;;"),
    *("time=now", "account=root", "msgid=m1"),
)
MECHANISMS: Final = ("PLAIN", "EXTERNAL", "SCRAM-SHA-256", "OAUTHBEARER", "*", "+", "NOSUCH")
GOOD_SECRET: Final = f"\0{ACCOUNT}\0{PASSWORD}"
SECRETS: Final = (
    *(GOOD_SECRET, GOOD_SECRET, f"\0{ACCOUNT}\0x", "\0b\0x", "\0\0", "x" * 350, ""),
    *(f"n,,n={ACCOUNT},r=x", "n,,n=b,r=x", "c=biws,r=x,p=y"),
)

# Lines to be filled in, and how often they come up.
TEMPLATES: Final = (
    ("JOIN {channel}", 12),
    ("JOIN {channel},{channel} {mask}", 3),
    ("PART {channel} :{text}", 5),
    ("PRIVMSG {target} :{text}", 14),
    ("NOTICE {target},{target} :{text}", 3),
    ("TAGMSG {target}", 3),
    ("NICK {nick}", 6),
    ("MODE {channel} {mode} {nick} {mask}", 10),
    ("MODE {channel} {mode} {mask} {any}", 4),
    ("MODE {nick} {mode}", 3),
    ("MODE {channel}", 1),
    ("MODE {nick}", 1),
    ("MODE {channel} +beI {mask} {mask} {mask}", 2),
    ("TOPIC {channel} :{text}", 3),
    ("KICK {channel} {nick} :{text}", 4),
    ("INVITE {nick} {channel}", 4),
    ("INVITE", 1),
    ("AWAY :{text}", 3),
    ("SETNAME :{text}", 2),
    ("MONITOR {bit} {nick},{nick}", 5),
    ("CAP REQ :{cap} {cap}", 5),
    ("CAP REQ :-{cap}", 2),
    ("CAP {bit} {bit}", 2),
    ("AUTHENTICATE {mechanism}", 4),
    ("AUTHENTICATE {secret}", 4),
    ("REGISTER {nick} * {password}", 1),
    (f"OPER {OPER} {PASSWORD}", 2),
    (f"OPER {OPER} {{any}}", 1),
    ("KILL {nick} :{text}", 1),
    ("HALT {any} :{text}", 1),
    ("HALT mesh :{text}", 1),
    ("UNHALT mesh :{text}", 1),
    ("@agentirc.dev/sender=person;agentirc.dev/hops=0 PRIVMSG {channel} :{text}", 2),
    ("WALLOPS :{text}", 1),
    ("CHGHOST {nick} {any} {any}", 1),
    ("WHO {target} {bit}", 2),
    ("WHOIS {nick},{nick}", 2),
    ("WHOWAS {nick}", 1),
    ("LIST {bit}", 1),
    ("STATS u", 1),
    ("NAMES {channel},{channel}", 2),
    ("PING {any}", 2),
    ("USER {any} 0 * :{text}", 1),
    ("BATCH +{batch} draft/multiline {target}", 3),
    ("@batch={batch} PRIVMSG {target} :{text}", 5),
    ("@batch={batch};draft/multiline-concat PRIVMSG {target} :{text}", 2),
    ("BATCH -{batch}", 3),
    (
        "BATCH +9 draft/multiline #x\r\n@batch=9 PRIVMSG #x :{text}\r\n"
        "@batch=9;draft/multiline-concat PRIVMSG #x :{text}\r\nBATCH -9",
        3,
    ),
    ("METADATA {target} {bit} {key} :{text}", 1),
    ("METADATA * SET {key} :{text}", 2),
    ("METADATA * SUB {key} {key}", 1),
    ("METADATA * UNSUB {key}", 1),
    ("METADATA * SUBS", 1),
    ("METADATA {target} SYNC", 1),
    ("METADATA {target} GET {key} {key}", 1),
    ("MARKREAD {target} timestamp=1970-01-0{digit}T00:00:00.000Z", 1),
    ("REDACT {target} {msgid} :{text}", 2),
    ("RENAME {channel} {channel} :{text}", 2),
    ("RELAYMSG {channel} {nick}/x :{text}", 1),
    ("CHATHISTORY LATEST {target} * {digit}", 3),
    ("CHATHISTORY AROUND {target} msgid={msgid} {digit}", 2),
    ("CHATHISTORY BETWEEN {target} msgid={msgid} timestamp=2026-01-01T00:00:00.000Z {digit}", 1),
    ("CHATHISTORY TARGETS timestamp=1970-01-01T00:00:00.000Z timestamp=2030-01-01T00:00:00.000Z {digit}", 1),
    ("HISTORY {bit} {target} {digit}", 1),
    ("QUIT :{text}", 1),
)
