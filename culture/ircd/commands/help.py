"""HELP, HELPOP and HELPINDEX: what one can type."""

from collections.abc import Sequence
from typing import Final

from culture.ircd.core import Ircd
from culture.ircd.refusal import Refusal
from culture.ircd.session import Session
from culture.ircd.text import pack
from culture.protocol.line import Line
from culture.protocol.numerics import ERR_HELPNOTFOUND, RPL_ENDOFHELP, RPL_HELPSTART, RPL_HELPTXT

INDEX: Final = "INDEX"

TOPICS: Final[dict[str, tuple[str, str]]] = {
    "ADMIN": ("ADMIN [server]", "Who runs this server."),
    "AWAY": ("AWAY [:text]", "Tells others that you are away, or without a text that you are back."),
    "CAP": ("CAP LS [302] | LIST | REQ :caps | END", "Negotiates the capabilities of your client."),
    "HELP": ("HELP [command]", "What a command does."),
    "INFO": ("INFO", "What this server is."),
    "INVITE": ("INVITE [nick #channel]", "Invites somebody to a channel, or lists your invitations."),
    "ISON": ("ISON nick ...", "Which of these people are here."),
    "JOIN": ("JOIN #a,#b [key,key]", "Joins channels. JOIN 0 leaves all of them."),
    "KICK": ("KICK #channel nick,nick [:reason]", "Removes people from a channel of yours."),
    "KILL": ("KILL nick :reason", "Closes somebody's connection. For operators of the server."),
    "LINKS": ("LINKS", "The servers of this network."),
    "LIST": ("LIST [#a,*mask*,!*mask*,>n,<n,C>n,T<n]", "Channels, with size and topic."),
    "LUSERS": ("LUSERS", "How many people are here."),
    "MODE": ("MODE target [changes [parameters]]", "Shows or changes the modes of a channel, or yours."),
    "MONITOR": ("MONITOR + nick,nick | - nick,nick | C | L | S", "Tells you when people come and go."),
    "MOTD": ("MOTD", "The message of the day."),
    "NAMES": ("NAMES #a,#b", "Who is in a channel."),
    "NICK": ("NICK nick", "Changes your nick."),
    "NOTICE": ("NOTICE target,target :text", "As PRIVMSG, and never answered by a program."),
    "OPER": ("OPER name [password]", "Makes you an operator of the server."),
    "PART": ("PART #a,#b [:reason]", "Leaves channels."),
    "PING": ("PING token", "Answered by PONG with the same token."),
    "PRIVMSG": ("PRIVMSG target,target :text", "Says something to channels and people. @nick calls one."),
    "QUIT": ("QUIT [:reason]", "Ends your connection."),
    "REGISTER": ("REGISTER * * :password", "Makes an account that is called as you are."),
    "REHASH": ("REHASH", "Lets the server read its configuration again. For operators of the server."),
    "SETNAME": ("SETNAME :real name", "Changes your real name."),
    "STATS": ("STATS u", "How long this server has been up."),
    "TAGMSG": ("TAGMSG target,target", "Sends tags without a text."),
    "TIME": ("TIME", "What time it is here."),
    "TOPIC": ("TOPIC #channel [:text]", "Shows or sets the topic of a channel."),
    "USERHOST": ("USERHOST nick ...", "Where up to five people come from."),
    "VERSION": ("VERSION", "The version of this server, and what it supports."),
    "WALLOPS": ("WALLOPS :text", "To everyone with user mode w. For operators of the server."),
    "WHO": ("WHO [mask [o][%fields[,token]]]", "Finds people by channel, nick or mask."),
    "WHOIS": ("WHOIS nick", "Who somebody is, and in which channels."),
    "WHOWAS": ("WHOWAS nick [count]", "Who had a nick before."),
}
"""A command's grammar and purpose. What only programs type has no entry."""


def help_(ircd: Ircd, session: Session, line: Line) -> None:
    subject = line.param(0).upper()
    if subject in TOPICS:
        _send(ircd, session, subject, f"The {subject} command", TOPICS[subject])
    elif subject == INDEX:
        help_index(ircd, session, line)
    elif subject:
        raise Refusal(ERR_HELPNOTFOUND, line.param(0), "No help available on this topic")
    else:
        _send(ircd, session, "*", "Help", ["HELP <command> tells what a command does.", *_index()])


def help_index(ircd: Ircd, session: Session, line: Line) -> None:
    _send(ircd, session, INDEX, "Commands", _index())


def _index() -> list[str]:
    return list(pack(TOPICS, 80))


def _send(ircd: Ircd, session: Session, subject: str, title: str, text: Sequence[str]) -> None:
    """A title, an empty line and the text, the last line of which ends it."""
    *lines, last = text
    ircd.reply(session, RPL_HELPSTART, subject, title)
    for line in ("", *lines):
        ircd.reply(session, RPL_HELPTXT, subject, line)
    ircd.reply(session, RPL_ENDOFHELP, subject, last)
