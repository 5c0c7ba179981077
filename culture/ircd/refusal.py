"""Error replies by numeric, which commands raise."""

from culture.protocol.numerics import (
    ERR_ALREADYREGISTERED,
    ERR_CHANOPRIVSNEEDED,
    ERR_NEEDMOREPARAMS,
    ERR_NOPRIVILEGES,
    ERR_NOSUCHCHANNEL,
    ERR_NOSUCHNICK,
    ERR_NOTONCHANNEL,
    ERR_NOTREGISTERED,
    ERR_SASLTOOLONG,
    ERR_UNKNOWNCOMMAND,
)


class Refusal(Exception):
    """A numeric error reply. The dispatcher sends it to the client whose command raised it."""

    def __init__(self, numeric: str, *params: str) -> None:
        super().__init__(numeric, *params)
        self.numeric = numeric
        self.params = params


def no_such_channel(name: str) -> Refusal:
    """Return the refusal of a command about a channel that does not exist."""
    return Refusal(ERR_NOSUCHCHANNEL, name, "No such channel")


def no_such_nick(nick: str) -> Refusal:
    """Return the refusal of a command about a nick that nobody has."""
    return Refusal(ERR_NOSUCHNICK, nick, "No such nick/channel")


def not_on_channel(name: str) -> Refusal:
    """Return the refusal of a command by a client that is not in the channel."""
    return Refusal(ERR_NOTONCHANNEL, name, "You're not on that channel")


def not_channel_operator(name: str) -> Refusal:
    """Return the refusal of a command that needs a channel operator."""
    return Refusal(ERR_CHANOPRIVSNEEDED, name, "You're not channel operator")


def not_an_operator() -> Refusal:
    """Return the refusal of a command that needs a server operator."""
    return Refusal(ERR_NOPRIVILEGES, "Permission Denied- You're not an IRC operator")


def need_more_params(command: str) -> Refusal:
    """Return the refusal of a command with too few parameters."""
    return Refusal(ERR_NEEDMOREPARAMS, command, "Not enough parameters")


def not_registered() -> Refusal:
    """Return the refusal of a command by a client that has not registered."""
    return Refusal(ERR_NOTREGISTERED, "You have not registered")


def sasl_too_long() -> Refusal:
    """Return the refusal of an AUTHENTICATE line that is too long."""
    return Refusal(ERR_SASLTOOLONG, "SASL message too long")


def not_available(command: str, *, is_known: bool, is_new: bool) -> Refusal:
    """Return the refusal of a command that is unknown or not allowed before or after registration."""
    if is_new:
        return not_registered()
    if not is_known:
        return Refusal(ERR_UNKNOWNCOMMAND, command, "Unknown command")
    return Refusal(ERR_ALREADYREGISTERED, "You may not reregister")
