"""The command table: the function, least number of parameters and phases of every client command."""

from culture.ircd.commands.channels.invite_kick import invite, kick
from culture.ircd.commands.channels.list import list_
from culture.ircd.commands.channels.membership import join, names, part, topic
from culture.ircd.commands.channels.mode import mode
from culture.ircd.commands.channels.rename import rename
from culture.ircd.commands.messages.batch import batch
from culture.ircd.commands.messages.markread import markread
from culture.ircd.commands.messages.privmsg import notice, privmsg, tagmsg
from culture.ircd.commands.messages.redact import redact
from culture.ircd.commands.messages.relaymsg import relaymsg
from culture.ircd.commands.people.chghost import chghost
from culture.ircd.commands.people.metadata import metadata
from culture.ircd.commands.people.monitor import monitor
from culture.ircd.commands.people.presence import away, ison, setname, userhost
from culture.ircd.commands.people.who import who
from culture.ircd.commands.people.whois import whois, whowas
from culture.ircd.commands.row import Command
from culture.ircd.commands.server.halt import halt, unhalt
from culture.ircd.commands.server.help import help_, help_index
from culture.ircd.commands.server.info import admin, info, lusers, motd, stats, summon, time, users, version
from culture.ircd.commands.server.links import connect, links, map_, server, squit
from culture.ircd.commands.server.oper import kill, oper, rehash, wallops
from culture.ircd.commands.session.accounts import register, verify
from culture.ircd.commands.session.authentication import authenticate
from culture.ircd.commands.session.extended_isupport import isupport
from culture.ircd.commands.session.liveness import ignore, ping, quit_
from culture.ircd.commands.session.negotiation import cap
from culture.ircd.commands.session.registration import nick, password, user
from culture.ircd.session import ANY, NEW

COMMANDS: dict[str, Command] = {
    "ADMIN": Command(admin),
    "AUTHENTICATE": Command(authenticate, params=1, phases=ANY),
    "AWAY": Command(away, phases=ANY),
    "BATCH": Command(batch, params=1),
    "CAP": Command(cap, params=1, phases=ANY),
    "CHGHOST": Command(chghost, params=3),
    "CONNECT": Command(connect, params=1),
    "ERROR": Command(ignore, phases=ANY),
    "HALT": Command(halt, params=1, phases=ANY),
    "HELP": Command(help_),
    "HELPINDEX": Command(help_index),
    "HELPOP": Command(help_),
    "INFO": Command(info),
    "INVITE": Command(invite),
    "ISON": Command(ison, params=1),
    "ISUPPORT": Command(isupport, phases=ANY),
    "JOIN": Command(join, params=1),
    "KICK": Command(kick, params=2),
    "KILL": Command(kill, params=2),
    "LINKS": Command(links),
    "LIST": Command(list_),
    "LUSERS": Command(lusers),
    "MAP": Command(map_),
    "MARKREAD": Command(markread),
    "METADATA": Command(metadata, phases=ANY),
    "MODE": Command(mode, params=1),
    "MONITOR": Command(monitor, params=1),
    "MOTD": Command(motd),
    "NAMES": Command(names),
    "NICK": Command(nick, phases=ANY),
    "NOTICE": Command(notice),
    "OPER": Command(oper, params=1),
    "PART": Command(part, params=1),
    "PASS": Command(password, params=1, phases=NEW),
    "PING": Command(ping, phases=ANY),
    "PONG": Command(ignore, phases=ANY),
    "PRIVMSG": Command(privmsg),
    "QUIT": Command(quit_, phases=ANY),
    "REDACT": Command(redact, params=2),
    "REGISTER": Command(register, params=3, phases=ANY),
    "REHASH": Command(rehash),
    "RELAYMSG": Command(relaymsg, params=3),
    "RENAME": Command(rename, params=2),
    "SERVER": Command(server, params=2, phases=NEW),
    "SETNAME": Command(setname, params=1),
    "SQUIT": Command(squit, params=1),
    "STATS": Command(stats, params=1),
    "SUMMON": Command(summon),
    "TAGMSG": Command(tagmsg),
    "TIME": Command(time),
    "TOPIC": Command(topic, params=1),
    "UNHALT": Command(unhalt, params=1, phases=ANY),
    "USER": Command(user, params=4, phases=NEW),
    "USERHOST": Command(userhost, params=1),
    "USERS": Command(users),
    "VERIFY": Command(verify, params=2, phases=ANY),
    "VERSION": Command(version),
    "WALLOPS": Command(wallops, params=1),
    "WHO": Command(who),
    "WHOIS": Command(whois),
    "WHOWAS": Command(whowas),
}
