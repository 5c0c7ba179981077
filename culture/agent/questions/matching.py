"""Find the open question that a message answers.

Only those who were asked can answer, and only in the conversation in which they were asked: the nick of a
direct message, or the channel members whom the question mentions, or any member if it mentions nobody. A
message that replies to the question by its msgid must obey the same rule. A proven person may also decide
a question with choices by a direct message, whoever was asked.
"""

from collections.abc import Callable, Iterable, Sequence

from culture.agent.inbox.attention import is_allowed, is_answerable, replied_msgids
from culture.agent.questions.wording import choice_of, has_word, without_address
from culture.agent.reporting.status_query import asks_for_status
from culture.client.events import Said
from culture.names import fold, is_channel
from culture.protocol.mentions import find_mentions
from culture.store.agent.questions import Standing, StoredQuestion


class Matcher:
    """Knows who was asked. `members` returns the nicks in a channel."""

    def __init__(
        self,
        own_nick: Callable[[], str],
        members: Callable[[str], Iterable[str]],
        allow_from: Sequence[str],
    ) -> None:
        self._own_nick = own_nick
        self._members = members
        self._allow_from = allow_from

    def may_answer(self, said: Said) -> bool:
        """Return whether the sender may influence the agent at all. Asking for its status is no answer."""
        own_nick = self._own_nick()
        return (
            is_answerable(said, own_nick)
            and is_allowed(said, self._allow_from)
            and not asks_for_status(said, own_nick)
        )

    def candidates(
        self, said: Said, questions: Iterable[StoredQuestion], standing: Standing
    ) -> list[StoredQuestion]:
        """Return the questions that a message may be about, the oldest first.

        There are several only if the message names none of them, by a reply or by its id.
        """
        replied = replied_msgids(said)
        asked = [each for each in questions if self._was_asked(each, said, standing)]
        if replied:
            # A reply is about the question to which it refers and about no other.
            return [each for each in asked if replied.intersection(each.msgids)][:1]
        if said.channel is not None and not said.calls(self._own_nick()):
            return []
        by_id = [each for each in asked if has_word(said.text, each.id)]
        return by_id[:1] or asked

    def is_named(self, said: Said, question: StoredQuestion) -> bool:
        """Return whether a message names a question, by a reply or by its id."""
        return bool(replied_msgids(said).intersection(question.msgids)) or has_word(said.text, question.id)

    def named(self, place: str, text: str) -> list[str]:
        """Return the members of a channel whom the text of a question mentions."""
        if not is_channel(place):
            return []
        own = fold(self._own_nick())
        members = {fold(nick): nick for nick in self._members(place) if fold(nick) != own}
        return find_mentions(text, members.get)

    def _was_asked(self, question: StoredQuestion, said: Said, standing: Standing) -> bool:
        """Return whether the question was put to the sender, in this conversation."""
        sender = fold(said.sender)
        if said.channel is None:
            return sender == fold(question.place) or self._decides_in_private(question, said, standing)
        if fold(said.channel) != fold(question.place):
            return False
        if question.named:
            return sender in map(fold, question.named)
        return sender in map(fold, self._members(question.place))

    def _decides_in_private(self, question: StoredQuestion, said: Said, standing: Standing) -> bool:
        if standing is not Standing.PERSON or not question.options:
            return False
        text = without_address(said.text, self._own_nick())
        return bool(choice_of(text, question.options, question.id))
