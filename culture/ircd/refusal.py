"""What a command raises when the answer is no."""

from culture.protocol.numerics import ERR_NEEDMOREPARAMS, ERR_NOSUCHCHANNEL, ERR_NOSUCHNICK


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


def need_more_params(command: str) -> Refusal:
    return Refusal(ERR_NEEDMOREPARAMS, command, "Not enough parameters")
