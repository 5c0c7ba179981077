"""Put the lines of `culturectl top` on a terminal with curses, and read its keys."""

import contextlib
import curses
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Final

from culture.ctl.top.cells import width
from culture.ctl.top.collect import Collector
from culture.ctl.top.controls import Mode, Request, View, press, refreshed
from culture.ctl.top.draw import Line, Style, draw
from culture.ctl.top.model import Snapshot
from culture.ctl.top.requests import carry_out, follow_log
from culture.errors import CultureError

# The pause between two refreshes.
REFRESH_INTERVAL_S: Final = 1.0
# How soon the screen notices a new size, and how often durations move on.
_TICK_S: Final = 0.2
# A lone escape character is the key, unless the rest of a sequence follows within this time.
_ESCAPE_DELAY_MS: Final = 25
_KEY_NAMES: Final[Mapping[int | str, str]] = {
    curses.KEY_UP: "up",
    curses.KEY_DOWN: "down",
    curses.KEY_HOME: "home",
    curses.KEY_END: "end",
    curses.KEY_ENTER: "enter",
    curses.KEY_BACKSPACE: "backspace",
    "\n": "enter",
    "\r": "enter",
    "\x1b": "escape",
    "\x7f": "backspace",
    "\b": "backspace",
    "\x15": "clear",
}
# What stands for our own characters where the terminal's encoding does not have them.
_ASCII: Final = str.maketrans({"…": "~", "─": "-"})
_COLOURS: Final = {
    Style.TITLE: curses.COLOR_CYAN,
    Style.URGENT: curses.COLOR_RED,
    Style.WORKING: curses.COLOR_GREEN,
}
_ATTRIBUTES: Final = {
    Style.PLAIN: curses.A_NORMAL,
    Style.TITLE: curses.A_REVERSE | curses.A_BOLD,
    Style.HEADING: curses.A_BOLD,
    Style.URGENT: curses.A_BOLD,
    Style.WORKING: curses.A_NORMAL,
    Style.DIM: curses.A_DIM,
    Style.SELECTED: curses.A_REVERSE,
}


def is_capable_terminal() -> bool:
    """Return whether input and output are a terminal on which the cursor can be moved."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        curses.setupterm()
    except curses.error:
        # $TERM is not set, or nobody knows that terminal.
        return False
    return curses.tigetstr("cup") is not None


def show(collector: Collector) -> None:
    """Show the screen until the person quits or the terminal goes away."""
    os.environ.setdefault("ESCDELAY", str(_ESCAPE_DELAY_MS))
    with contextlib.suppress(KeyboardInterrupt):
        curses.wrapper(lambda window: _Screen(window, collector).run())


class _Screen:
    """The state of a running screen. Only this thread uses curses; others put what they find into a queue."""

    def __init__(self, window: "curses.window", collector: Collector) -> None:
        self._window = window
        self._collector = collector
        self._view = View()
        self._snapshot: Snapshot | None = None
        # Snapshots, and messages for the person.
        self._news: SimpleQueue[Snapshot | str] = SimpleQueue()
        self._is_refresh_due = threading.Event()
        self._attributes = _attributes()
        window.nodelay(True)

    def run(self) -> None:
        """Draw, wait for a key, and do what it says."""
        threading.Thread(target=self._refresh, daemon=True).start()
        keyboard = select.poll()
        keyboard.register(sys.stdin, select.POLLIN)
        while True:
            self._take_news()
            self._paint()
            events = keyboard.poll(_TICK_S * 1000)
            if any(event & (select.POLLHUP | select.POLLERR | select.POLLNVAL) for _, event in events):
                return
            # A new size arrives as a key without input from the keyboard.
            for key in self._keys():
                self._view, request = press(self._view, self._snapshot, key)
                if request is not None and request.kind == "quit":
                    return
                if request is not None:
                    self._carry_out(request)

    def _refresh(self) -> None:
        """Take snapshots for ever, in a thread of its own, so that a hung agent never holds up the screen."""
        while True:
            self._is_refresh_due.clear()
            try:
                self._news.put(self._collector.snapshot())
            except CultureError as error:
                self._news.put(str(error))
            except (OSError, LookupError, TypeError, ValueError) as error:
                # A traceback would be written across the screen; the next refresh may work.
                self._news.put(f"cannot refresh: {error!r}")
            self._is_refresh_due.wait(REFRESH_INTERVAL_S)

    def _take_news(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                news = self._news.get_nowait()
                if isinstance(news, Snapshot):
                    self._view = refreshed(self._view, self._snapshot, news)
                    self._snapshot = news
                else:
                    self._view = replace(self._view, message=news)

    def _keys(self) -> Iterator[str]:
        with contextlib.suppress(curses.error):
            while True:
                key = self._window.get_wch()
                yield _KEY_NAMES.get(key) or (key if isinstance(key, str) else "")

    def _carry_out(self, request: Request) -> None:
        if request.kind == "log":
            self._hand_over(request.nick)
        elif request.kind == "refresh":
            self._is_refresh_due.set()
        else:
            self._view = replace(self._view, message=f"{request.kind} {request.nick}…")
            threading.Thread(target=self._do, args=(request,), daemon=True).start()

    def _do(self, request: Request) -> None:
        self._news.put(carry_out(request))
        self._is_refresh_due.set()

    def _hand_over(self, nick: str) -> None:
        """Leave the terminal to the log, and take it back when the log ends."""
        curses.endwin()
        # Ctrl-C ends the log and not this program. A handler, other than SIG_IGN, is not inherited.
        before = signal.signal(signal.SIGINT, lambda number, frame: None)
        try:
            message = follow_log(nick)
        finally:
            signal.signal(signal.SIGINT, before)
        self._view = replace(self._view, message=message)
        self._window.clear()
        self._window.refresh()

    def _paint(self) -> None:
        rows, columns = self._window.getmaxyx()
        lines = draw(self._snapshot, self._view, rows, columns, time.time())
        self._window.erase()
        for y, line in enumerate(lines):
            self._put(y, line)
        with contextlib.suppress(curses.error):
            curses.curs_set(1 if self._view.mode is Mode.ANSWER else 0)
        self._window.refresh()

    def _put(self, y: int, line: Line) -> None:
        x = 0
        for text, style in line:
            # Curses reports an error after it has written the last cell of the screen.
            with contextlib.suppress(curses.error):
                self._window.addstr(y, x, self._encodable(text), self._attributes[style])
            x += width(text)

    def _encodable(self, text: str) -> str:
        encoding = self._window.encoding
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
        return text


def _attributes() -> dict[Style, int]:
    attributes = dict(_ATTRIBUTES)
    if not curses.has_colors():
        return attributes
    with contextlib.suppress(curses.error):
        # Otherwise curses paints the whole screen white on black.
        curses.use_default_colors()
        # https://no-color.org: any value but an empty one switches colours off.
        if os.environ.get("NO_COLOR"):
            return attributes
        for number, (style, colour) in enumerate(_COLOURS.items(), 1):
            curses.init_pair(number, colour, -1)
            attributes[style] |= curses.color_pair(number)
    return attributes
