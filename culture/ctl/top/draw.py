"""Draw the screen of `culturectl top`: a pure function from what is known and a size to lines."""

import time
from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import groupby
from textwrap import wrap
from typing import Final, NamedTuple

from culture.ctl.agents import elapsed
from culture.ctl.top.cells import ELLIPSIS, clean, fit, head, shorten, tail, width
from culture.ctl.top.controls import Item, Mode, View, items
from culture.ctl.top.model import AgentRow, Group, LinkRow, QuestionRow, Snapshot


class Style(Enum):
    """How a text stands out. Every style is readable without colours."""

    PLAIN = "plain"
    TITLE = "title"
    HEADING = "heading"
    # Somebody has to act.
    URGENT = "urgent"
    WORKING = "working"
    DIM = "dim"
    SELECTED = "selected"


class Span(NamedTuple):
    """A text in one style."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Span, ...]


class Body(NamedTuple):
    """One line of the part that scrolls."""

    line: Line
    # What is selected when the line is marked; None for headings.
    item: Item | None = None


# The states that do not fit into the column, shorter.
_SHORT_STATES: Final = {
    "waiting for an answer": "question",
    "waiting for budget": "no budget",
    "waiting for quota": "no quota",
}
_GROUP_STYLES: Final = {Group.NEEDS_YOU: Style.URGENT, Group.WORKING: Style.WORKING}
_MARK: Final = "> "
# From this width on, a row has all columns.
_WIDE: Final = 70
# The most important first: those that do not fit are left out.
_KEYS: Final = (
    *("q quit", "a answer", "p pause", "r resume", "x abort", "l log", "arrows select", "space refresh"),
)
# A refresh that waits for everybody is done sooner.
_STALE_S: Final = 10.0
# A screen this high has room for the details of what is selected.
_DETAILS_FROM_ROWS: Final = 16


def draw(snapshot: Snapshot | None, view: View, rows: int, columns: int, now_s: float) -> list[Line]:
    """Return the lines of the screen, at most `rows`, each at most `columns` cells wide."""
    bottom = [*_message(view, columns), _bottom(snapshot, view, columns)]
    title = _title(snapshot, columns, now_s)
    details = _details(snapshot, view, rows, columns, now_s) if snapshot is not None else []
    height = max(rows - 1 - len(details) - len(bottom), 1)
    body: list[Line] = [(Span(shorten("asking the agents" + ELLIPSIS, columns), Style.DIM),)]
    if snapshot is not None:
        body = _window(list(_body(snapshot, view, columns, now_s)), view, height, columns)
    blank: Line = ()
    filler = [blank] * (height - len(body))
    return [title, *body, *filler, *details, *bottom][-rows:]


def _title(snapshot: Snapshot | None, columns: int, now_s: float) -> Line:
    clock = time.strftime("%H:%M:%S", time.localtime(now_s))
    if snapshot is None:
        return (Span(fit("culture", columns), Style.TITLE),)
    groups = [agent.group for agent in snapshot.agents]
    counts = ", ".join(f"{groups.count(group)} {group}" for group in Group if group in groups)
    left = f"{clean(snapshot.host) or 'culture'}: {counts or 'no agents'}"
    right = f"{snapshot.cost_usd_today:.2f} USD today  {clock}"
    room = columns - width(right) - 2
    if room < width(left):
        # Without the clock more of the counts fit.
        right = f"{snapshot.cost_usd_today:.2f} USD"
        room = columns - width(right) - 2
    return (Span(shorten(f"{fit(left, max(room, 0))}  {right}", columns), Style.TITLE),)


def _message(view: View, columns: int) -> list[Line]:
    if not view.message:
        return []
    return [(Span(shorten(clean(view.message), columns), Style.HEADING),)]


def _bottom(snapshot: Snapshot | None, view: View, columns: int) -> Line:
    if view.mode is Mode.CONFIRM_ABORT:
        before, after = "abort the work of ", " for good? y/n"
        nick = shorten(clean(view.nick), max(columns - width(before + after), 0))
        return (Span(shorten(before + nick + after, columns), Style.URGENT),)
    if view.mode is Mode.ANSWER:
        question = snapshot.question(view.question) if snapshot is not None else None
        choices = f" ({'/'.join(map(clean, question.options))})" if question and question.options else ""
        asked = f"answer {clean(view.question)}{choices}"
        label = head(f"{shorten(asked, columns * 2 // 3)}: ", max(columns - 1, 0))
        # The end of a long text is shown, because the person types there; one cell is for the cursor.
        typed = tail(clean_typed(view.typed), max(columns - width(label) - 1, 0))
        return (Span(label, Style.URGENT), Span(typed))
    shown = ""
    for key in _KEYS:
        longer = f"{shown}  {key}" if shown else key
        if width(longer) > columns:
            break
        shown = longer
    return (Span(shown, Style.DIM),)


def clean_typed(text: str) -> str:
    """Return typed text as it is shown, with the space at its end."""
    return clean(text) + " " * (len(text) - len(text.rstrip()))


def _body(snapshot: Snapshot, view: View, columns: int, now_s: float) -> Iterator[Body]:
    if now_s - snapshot.taken_s > _STALE_S:
        since = time.strftime("%H:%M:%S", time.localtime(snapshot.taken_s))
        yield Body((Span(shorten(f"not refreshed since {since}", columns), Style.URGENT),))
    for problem in snapshot.problems:
        yield Body((Span(shorten(clean(problem), columns), Style.URGENT),))
    if snapshot.questions:
        yield _heading(f"questions ({len(snapshot.questions)})", columns)
    nicks = _nick_width(snapshot, columns)
    ids = min(max((width(clean(question.id)) for question in snapshot.questions), default=0), 10)
    for question in snapshot.questions:
        item = Item("question", question.id)
        yield _row(_question_cells(question, ids, nicks, columns, now_s), item, view, Style.URGENT, columns)
    if not snapshot.agents:
        yield Body((Span(shorten("agents.yaml has no agents: culturectl create", columns)),))
    else:
        yield Body((Span(shorten(_agent_head(nicks, columns), columns), Style.DIM),))
    for group, agents in groupby(snapshot.agents, key=lambda agent: agent.group):
        members = list(agents)
        yield _heading(f"{group} ({len(members)})", columns)
        for agent in members:
            item = Item("agent", agent.nick)
            cells = _agent_cells(agent, nicks, columns, now_s)
            yield _row(cells, item, view, _GROUP_STYLES.get(group, Style.PLAIN), columns)
    if snapshot.links:
        yield _heading(f"links ({len(snapshot.links)})", columns)
    for link in snapshot.links:
        style = Style.PLAIN if link.is_up else Style.URGENT
        yield Body((Span(shorten(f"  {_link_text(link)}", columns), style),))


def _heading(text: str, columns: int) -> Body:
    return Body((Span(shorten(text.upper(), columns), Style.HEADING),))


def _row(cells: tuple[str, str], item: Item, view: View, style: Style, columns: int) -> Body:
    """Return a row of a name in its style and the rest. A selected row has a mark and fills the line."""
    name, rest = cells
    if view.selected == item:
        return Body((Span(fit(f"{_MARK}{name}  {rest}", columns), Style.SELECTED),), item)
    text = head(f"  {name}", columns)
    return Body((Span(text, style), Span(shorten(f"  {rest}", columns - width(text)))), item)


def _nick_width(snapshot: Snapshot, columns: int) -> int:
    widest = max((width(clean(agent.nick)) for agent in snapshot.agents), default=4)
    return max(min(widest, columns // (4 if columns >= _WIDE else 3)), 4)


def _question_cells(
    question: QuestionRow, ids: int, nicks: int, columns: int, now_s: float
) -> tuple[str, str]:
    # On a narrow screen the agent's nick is left to the details.
    nick = fit(clean(question.agent), nicks) + "  " if columns >= _WIDE else ""
    choices = f"  [{'/'.join(map(clean, question.options))}]" if question.options else ""
    votes = "".join(f"  ({clean(vote)})" for vote in question.votes)
    age = fit(elapsed(question.asked, now_s), 6)
    return fit(clean(question.id), ids), f"{nick}{age}  {clean(question.text)}{choices}{votes}"


def _agent_head(nicks: int, columns: int) -> str:
    if columns < _WIDE:
        return f"  {fit('AGENT', nicks)}  SINCE   DOING"
    return f"  {fit('AGENT', nicks)}  STATE      SINCE   QUEUE  FULL   TODAY  DOING"


def _agent_cells(agent: AgentRow, nicks: int, columns: int, now_s: float) -> tuple[str, str]:
    since, doing = fit(elapsed(agent.since, now_s), 6), clean(agent.doing)
    nick = fit(clean(agent.nick), nicks)
    if columns < _WIDE:
        return nick, f"{since}  {doing}"
    state = fit(_SHORT_STATES.get(agent.state, agent.state), 9)
    queue = "-" if agent.queue is None else str(agent.queue)
    full = "-" if agent.context is None else f"{agent.context:.0%}"
    today = "-" if agent.cost_usd_today is None else f"{agent.cost_usd_today:.2f}"
    return nick, f"{state}  {since}  {queue:>5}  {full:>4}  {today:>6}  {doing}"


def _link_text(link: LinkRow) -> str:
    lag = f"  lag {link.lag_ms} ms" if link.lag_ms is not None else ""
    here = f"  lacking here: {', '.join(map(clean, link.lacking_here))}" if link.lacking_here else ""
    there = f"  lacking there: {', '.join(map(clean, link.lacking_there))}" if link.lacking_there else ""
    return f"{clean(link.host)}  {clean(link.state)}{lag}{here}{there}"


def _window(body: Sequence[Body], view: View, height: int, columns: int) -> list[Line]:
    """Return the part of the body that fits and has what is selected. Say how much is above and below."""
    lines = [each.line for each in body]
    if len(lines) <= height:
        return lines
    marked = next((index for index, each in enumerate(body) if each.item and each.item == view.selected), 0)
    start = min(max(marked - height // 2, 0), len(lines) - height)
    shown = lines[start : start + height]
    below = len(lines) - start - height
    if start and height > 2:
        shown[0] = (Span(shorten(f"  {start + 1} more above", columns), Style.DIM),)
    if below and height > 2:
        shown[-1] = (Span(shorten(f"  {below + 1} more below", columns), Style.DIM),)
    return shown


def _details(snapshot: Snapshot, view: View, rows: int, columns: int, now_s: float) -> list[Line]:
    """Return what is known about the selected item, in a part of the screen that does not change its size."""
    if rows < _DETAILS_FROM_ROWS or view.selected not in items(snapshot):
        return []
    assert view.selected is not None
    height = rows // 5
    question = snapshot.question(view.selected.name) if view.selected.kind == "question" else None
    agent = snapshot.agent(question.agent if question else view.selected.name)
    texts = _about_question(question, now_s) if question else _about_agent(agent) if agent else []
    wrapped = [line for text in texts for line in _wrapped(text, columns)]
    if len(wrapped) > height:
        wrapped[height - 1] = shorten(wrapped[height - 1] + " " + ELLIPSIS, columns)
    label = f"── {clean(view.selected.name)} "
    ruler = shorten(label + "─" * max(columns - width(label), 0), columns)
    blank: Line = ()
    lines: list[Line] = [(Span(line),) for line in wrapped[:height]]
    return [(Span(ruler, Style.DIM),), *lines, *[blank] * (height - len(lines))]


def _wrapped(text: str, columns: int) -> list[str]:
    """Return lines of at most so many cells, broken between words unless characters are wide."""
    if text.isascii():
        return wrap(text, max(columns, 1)) or [""]
    lines = []
    while text:
        line = head(text, columns) or text[0]
        lines.append(shorten(line, columns))
        text = text[len(line) :]
    return lines


def _about_question(question: QuestionRow, now_s: float) -> list[str]:
    kind = "" if question.kind == "ask" else f" ({clean(question.kind)})"
    asked = f"{clean(question.agent)} asked {elapsed(question.asked, now_s)} ago in {clean(question.place)}"
    answers = "/".join(map(clean, question.options)) or "any text"
    votes = "; votes: " + ", ".join(map(clean, question.votes)) if question.votes else ""
    return [f"{asked}{kind}; answers: {answers}{votes}", clean(question.text)]


def _about_agent(agent: AgentRow) -> list[str]:
    why = f": {clean(agent.why)}" if agent.why else ""
    turn = f"turn {clean(agent.turn)} {clean(agent.turn_for)}" if agent.turn else ""
    tool = f"tool {clean(agent.tool)}" if agent.tool else ""
    asked = f"open questions: {', '.join(map(clean, agent.questions))}" if agent.questions else ""
    first = f"{clean(agent.backend)} agent, {agent.state}{why}"
    status = clean(agent.status) if clean(agent.status) not in (clean(agent.why), "") else ""
    return [text for text in (first, turn, tool, asked, status) if text]
