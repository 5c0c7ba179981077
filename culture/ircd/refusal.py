"""What a command raises when the answer is no."""

from culture.protocol.numerics import (
    ERR_ALREADYREGISTERED,
    ERR_CHANOPRIVSNEEDED,
    ERR_NEEDMOREPARAMS,
    ERR_NOPRIVILEGES,
    ERR_NOSUCHCHANNEL,
    ERR_NOSUCHNICK,
    ERR_NOTONCHANNEL,
    ERR_NOTREGISTERED,
    ERR_UNKNOWNCOMMAND,
)


class Refusal(Exception):
    """A numeric error reply. The dispatcher sends it to the client whose command raised it."""

    def __init__(self, numeric: str, *params: str) -> None:
        super().__init__(numeric, *params)
        self.numeric = numeric
        self.params = params


def no_such_channel(name: str) -> Refusal:
    return Refusal(ERR_NOSUCHCHANNEL, name, "No such channel")


def no_such_nick(nick: str) -> Refusal:
    return Refusal(ERR_NOSUCHNICK, nick, "No such nick/channel")


def not_on_channel(name: str) -> Refusal:
    return Refusal(ERR_NOTONCHANNEL, name, "You're not on that channel")


def not_channel_operator(name: str) -> Refusal:
    return Refusal(ERR_CHANOPRIVSNEEDED, name, "You're not channel operator")


def not_an_operator() -> Refusal:
    return Refusal(ERR_NOPRIVILEGES, "Permission Denied- You're not an IRC operator")


def need_more_params(command: str) -> Refusal:
    return Refusal(ERR_NEEDMOREPARAMS, command, "Not enough parameters")


def not_registered() -> Refusal:
    return Refusal(ERR_NOTREGISTERED, "You have not registered")


def not_now(command: str, *, is_known: bool, is_new: bool) -> Refusal:
    """It is too early for a command, or too late, or there is none such."""
    if is_new:
        return not_registered()
    if not is_known:
        return Refusal(ERR_UNKNOWNCOMMAND, command, "Unknown command")
    return Refusal(ERR_ALREADYREGISTERED, "You may not reregister")
