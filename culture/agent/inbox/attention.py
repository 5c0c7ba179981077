"""Whether something said concerns an agent, so that it is worth a turn. Everything else costs nothing."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal

from culture.client.events import Said
from culture.config.agents import AgentConfig
from culture.names import Folded, fold
from culture.protocol.accounts import is_account_match
from culture.protocol.authority.senders import SENDER_TAG, SenderKind
from culture.protocol.ctcp import is_request
from culture.protocol.masks import is_match
from culture.protocol.mentions import find_mentions

EVERYONE: Final = "all"
# The draft's name (IRCv3 client-tags/reply), and the one it will have.
_REPLY: Final = ("+draft/reply", "+reply")
# On what a bot says (IRCv3 bot-mode).
_BOT: Final = "bot"
_ACCOUNT: Final = "account"
_OF_ACCOUNT: Final = "account:"


class Concern(StrEnum):
    """Why something is worth a turn."""

    DIRECT = "direct"
    MENTION = "mention"
    REPLY = "reply"
    NAME = "name"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Attention:
    """What an agent listens to."""

    # Nicks as masks, and accounts as `account:` with a mask, `account:NAME@HOST` for those of another host.
    allow_from: tuple[str, ...] = ("*",)
    # What calls it as `@name`, besides its nick: other names of its own, and those of groups that it is in.
    names: Mapping[Folded, Concern] = field(default_factory=lambda: {fold(EVERYONE): Concern.GROUP})
    # Whether agents that are no operators of the channel may call a group, too.
    groups_from: Literal["people", "everyone"] = "people"
    # Accounts that are people's, in addition to those whom the server calls people.
    people: tuple[str, ...] = ()


def attention_of(config: AgentConfig, people: tuple[str, ...] = ()) -> Attention:
    """Return what the agent of this configuration listens to. `people` is that key of agents.yaml."""
    groups = {fold(name): Concern.GROUP for name in (EVERYONE, *config.tags)}
    own = {fold(name): Concern.NAME for name in config.wake_on}
    return Attention(config.allow_from, groups | own, config.groups_from, people)


def concern_of(
    said: Said,
    own_nick: str,
    attention: Attention,
    own_messages: Container[str] = (),
    is_operator: Callable[[str, str], bool] = lambda channel, nick: False,
) -> Concern | None:
    """Why an agent must look at this, or None.

    A NOTICE never starts a turn, whoever sends it: programs do not answer notices (RFC 2812 section
    3.3.2), which is what keeps two of them from talking to each other without end.
    """
    if not is_answerable(said, own_nick):
        return None
    concern = _concern(said, own_nick, attention, own_messages)
    if concern is None or not is_allowed(said, attention.allow_from):
        return None
    if concern is Concern.GROUP and is_from_agent(said) and attention.groups_from == "people":
        return concern if is_operator(said.channel or "", said.sender) else None
    return concern


def _concern(said: Said, own_nick: str, attention: Attention, own_messages: Container[str]) -> Concern | None:
    if said.channel is None:
        return Concern.DIRECT
    if said.calls(own_nick):
        return Concern.MENTION
    if any(msgid in own_messages for msgid in replied_msgids(said)):
        return Concern.REPLY
    # By `@` alone: `all, please note` and `deployer, maybe` are ordinary sentences.
    called = find_mentions(said.text, attention.names.get, addresses=False)
    return next((each for each in (Concern.NAME, Concern.GROUP) if each in called), None)


def is_answerable(said: Said, own_nick: str) -> bool:
    """Whether somebody else says something that could be answered."""
    if said.is_notice or said.is_from_server or fold(said.sender) == fold(own_nick):
        return False
    # Clients ask each other for versions and times by CTCP, unseen by people. Only /me is speech.
    return not is_request(said.text)


def is_from_agent(said: Said) -> bool:
    """Return whether the sender is an agent: the server knows it, or the sender says so (mode B)."""
    return _BOT in said.tags or said.tags.get(SENDER_TAG) == SenderKind.AGENT


def is_person(said: Said, people: Iterable[str] = ()) -> bool:
    """Return whether it is proved that the sender is a person, who may decide for agents.

    Our server says so by a tag that only servers can set. On other servers the account of the sender (IRCv3
    account-tag) has to match one of `people`. A nick proves nothing, and neither does a missing `bot` tag.
    """
    if is_from_agent(said):
        return False
    if said.tags.get(SENDER_TAG) == SenderKind.PERSON:
        return True
    account = said.tags.get(_ACCOUNT, "")
    masks = (each.removeprefix(_OF_ACCOUNT) for each in people if each.startswith(_OF_ACCOUNT))
    return bool(account) and any(is_account_match(mask, account) for mask in masks)


def replied_msgids(said: Said) -> set[str]:
    """The ids of what it says itself to be a reply to."""
    return {said.tags[tag] for tag in _REPLY if tag in said.tags}


def is_allowed(said: Said, allow_from: Iterable[str]) -> bool:
    """Whether its sender may start a turn, or answer in one."""
    account = said.tags.get(_ACCOUNT, "")
    for allowed in allow_from:
        if allowed.startswith(_OF_ACCOUNT):
            # `ori` is an account of the agent's own host, `ori@thor` one of another.
            if account and is_account_match(allowed.removeprefix(_OF_ACCOUNT), account):
                return True
        # A nick with a slash is that of somebody elsewhere, for whom another speaks (draft/relaymsg): they
        # are allowed by name, not along with everybody who is here.
        elif ("/" in said.sender) <= ("/" in allowed) and is_match(allowed, said.sender):
            return True
    return False
