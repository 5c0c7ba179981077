"""What each key does: a pure function from what is shown and a key to the next view and a request."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Literal, NamedTuple

from culture.ctl.top.model import Snapshot

# The longest answer that can be typed.
MOST_TYPED: Final = 2000


class Item(NamedTuple):
    """Something that can be selected: a question by its id, or an agent by its nick."""

    kind: Literal["question", "agent"]
    name: str


class Mode(Enum):
    """What keys are for."""

    BROWSE = "browse"
    # Keys are the text of an answer.
    ANSWER = "answer"
    # The next key decides whether an agent is aborted.
    CONFIRM_ABORT = "confirm"


class Request(NamedTuple):
    """Something that the program does for a person."""

    kind: Literal["pause", "resume", "abort", "answer", "log", "refresh", "quit"]
    nick: str = ""
    question: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """What the person has selected and typed, and what they were last told."""

    selected: Item | None = None
    mode: Mode = Mode.BROWSE
    # The agent and the question that the mode is about. They stay while the screen changes.
    nick: str = ""
    question: str = ""
    typed: str = ""
    message: str = ""


def items(snapshot: Snapshot) -> list[Item]:
    """Return everything that can be selected, in the order of the screen."""
    questions = [Item("question", question.id) for question in snapshot.questions]
    return [*questions, *(Item("agent", agent.nick) for agent in snapshot.agents)]


def refreshed(view: View, old: Snapshot | None, new: Snapshot) -> View:
    """Keep the selection if what is selected still exists; otherwise select what took its place."""
    found = items(new)
    if view.selected in found:
        return view
    before = items(old) if old is not None else []
    index = before.index(view.selected) if view.selected in before else 0
    return replace(view, selected=found[min(index, len(found) - 1)] if found else None)


def press(view: View, snapshot: Snapshot | None, key: str) -> tuple[View, Request | None]:
    """Return the view after a key, and what the person asked for. A key is its character or its name."""
    match view.mode:
        case Mode.ANSWER:
            return _type(view, key)
        case Mode.CONFIRM_ABORT:
            done = replace(view, mode=Mode.BROWSE, message="")
            return done, Request("abort", view.nick) if key in ("y", "Y") else None
        case Mode.BROWSE:
            return _browse(replace(view, message=""), snapshot, key)


def _browse(view: View, snapshot: Snapshot | None, key: str) -> tuple[View, Request | None]:
    if key in ("q", "Q"):
        return view, Request("quit")
    if snapshot is None or view.selected is None:
        return view, None
    nick = _nick_of(view.selected, snapshot)
    match key:
        case "up" | "k":
            return _move(view, snapshot, -1), None
        case "down" | "j":
            return _move(view, snapshot, 1), None
        case "home" | "g":
            return _move(view, snapshot, -len(items(snapshot))), None
        case "end" | "G":
            return _move(view, snapshot, len(items(snapshot))), None
        case "p":
            return view, Request("pause", nick)
        case "r":
            return view, Request("resume", nick)
        case "l":
            return view, Request("log", nick)
        case " ":
            return view, Request("refresh")
        case "x":
            return replace(view, mode=Mode.CONFIRM_ABORT, nick=nick), None
        case "a":
            return _begin_answer(view, snapshot, nick), None
        case "enter":
            if view.selected.kind == "agent":
                return view, Request("log", nick)
            return _begin_answer(view, snapshot, nick), None
    return view, None


def _nick_of(item: Item, snapshot: Snapshot) -> str:
    question = snapshot.question(item.name) if item.kind == "question" else None
    return question.agent if question is not None else item.name


def _move(view: View, snapshot: Snapshot, by: int) -> View:
    found = items(snapshot)
    index = found.index(view.selected) if view.selected in found else 0
    return replace(view, selected=found[min(max(index + by, 0), len(found) - 1)])


def _begin_answer(view: View, snapshot: Snapshot, nick: str) -> View:
    assert view.selected is not None
    if view.selected.kind == "question":
        id = view.selected.name
    else:
        agent = snapshot.agent(nick)
        if agent is None or not agent.questions:
            return replace(view, message=f"{nick} asks nothing")
        id = agent.questions[0]
    return replace(view, mode=Mode.ANSWER, nick=nick, question=id, typed="")


def _type(view: View, key: str) -> tuple[View, Request | None]:
    over = replace(view, mode=Mode.BROWSE, typed="")
    match key:
        case "escape":
            return replace(over, message="nothing was answered"), None
        case "enter":
            text = view.typed.strip()
            if not text:
                return replace(over, message="nothing was answered"), None
            return over, Request("answer", view.nick, view.question, text)
        case "backspace":
            return replace(view, typed=view.typed[:-1]), None
        case "clear":
            return replace(view, typed=""), None
    if len(key) == 1 and key.isprintable() and len(view.typed) < MOST_TYPED:
        return replace(view, typed=view.typed + key), None
    return view, None
