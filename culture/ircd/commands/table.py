"""Every command that a client can send: what runs, how many parameters it needs, and when it may be sent."""

from culture.ircd.commands.information import list_, lusers, motd, userhost, who, whois
from culture.ircd.commands.liveness import ignore, ping, quit_
from culture.ircd.commands.membership import join, names, part, topic
from culture.ircd.commands.modes import mode
from culture.ircd.commands.negotiation import cap
from culture.ircd.commands.registration import nick, password, user
from culture.ircd.commands.speech import notice, privmsg, tagmsg
from culture.ircd.core import Command
from culture.ircd.session import ANY, NEW

COMMANDS: dict[str, Command] = {
    "CAP": Command(cap, params=1, phases=ANY),
    "ERROR": Command(ignore, phases=ANY),
    "JOIN": Command(join, params=1),
    "LIST": Command(list_),
    "LUSERS": Command(lusers),
    "MODE": Command(mode, params=1),
    "MOTD": Command(motd),
    "NAMES": Command(names),
    "NICK": Command(nick, phases=ANY),
    "NOTICE": Command(notice),
    "PART": Command(part, params=1),
    "PASS": Command(password, params=1, phases=NEW),
    "PING": Command(ping, phases=ANY),
    "PONG": Command(ignore, phases=ANY),
    "PRIVMSG": Command(privmsg),
    "QUIT": Command(quit_, phases=ANY),
    "TAGMSG": Command(tagmsg),
    "TOPIC": Command(topic, params=1),
    "USER": Command(user, params=4, phases=NEW),
    "USERHOST": Command(userhost, params=1),
    "WHO": Command(who),
    "WHOIS": Command(whois),
}
