"""The urlindex skill: collect the URLs shared in channels, and find them by `URLS`."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from culture.ircd.failures import Failure
from culture.ircd.skills import Asker, EventRecord, Replies, Reply, Skill, SkillCommand
from culture.names import fold, is_channel
from culture.protocol.render import format_time
from culture.skills.background_worker import BackgroundWorker
from culture.store.corruption import set_aside_if_damaged
from culture.store.urls import FILE, Reader, Shared, UrlChannelRenamed, UrlRedacted, Urls

# The most URLs in one reply.
MOST: Final = 100
# Longer URLs do not fit into a reply.
URL_BYTES: Final = 400
_URL = re.compile(r"\bhttps?://[^\s<>\"\x00-\x1f\x7f]+", re.IGNORECASE)
# What becomes of links that were shared before.
_OF_OLD_ONES: Final = frozenset({"REDACT", "RENAME"})
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}

HELP: Final = (
    "URLS [#channel] [:term]",
    "The links that were shared in the channels that you may read, the newest first.",
)


class UrlIndex(Skill):
    """Stores shared URLs in a background thread and answers `URLS`."""

    name = "urlindex"
    wants = frozenset({"PRIVMSG", "NOTICE", "REDACT", "RENAME"})

    def __init__(self, directory: Path, *, report: Callable[[str], None] = lambda text: None) -> None:
        set_aside_if_damaged(directory / FILE, report)
        self._urls = Urls(directory)
        self._behind = BackgroundWorker("the index of links", self._add, report)
        self.commands = {"URLS": SkillCommand(self._answer, help=HELP)}

    def start(self) -> None:
        self._behind.start()

    def observe(self, happened: Sequence[EventRecord]) -> None:
        if likely := [each for each in happened if "://" in each.text or each.command in _OF_OLD_ONES]:
            self._behind.put(likely)

    def close(self) -> None:
        self._behind.close()

    def _add(self, happened: Sequence[EventRecord]) -> None:
        self._urls.add([change for each in happened for change in _changes(each)])

    def _answer(self, asker: Asker, params: Sequence[str]) -> Replies:
        """Answer `URLS [<channel>] [:<term>]`."""
        self._behind.flush()
        channel, term = _parse(params)
        members = {key: membership.channel_since for key, membership in asker.channels.items()}
        asked = [fold(channel)] if channel else {*asker.closed, *asker.guarded}
        reader = Reader(members, [key for key in asked if asker.is_kept_from(key)], asker.is_for_members)
        lines = [
            Reply(
                "URLS",
                (
                    link.channel,
                    link.nick,
                    format_time(link.first_ms / 1000),
                    format_time(link.last_ms / 1000),
                    str(link.times),
                    link.url,
                ),
            )
            for link in self._urls.find(reader, channel, term, MOST)
        ]
        return [*lines, Reply("URLSEND", (channel or "*", "End of results"))]


def find_urls(text: str) -> list[str]:
    """Return the URLs in a text, each once, without surrounding punctuation."""
    return list(dict.fromkeys(url for found in _URL.findall(text) if (url := _trimmed(found))))


def _trimmed(url: str) -> str:
    while url:
        last = url[-1]
        is_pair = last in _PAIRS and url.count(last) > url.count(_PAIRS[last])
        if not is_pair and last not in ".,;:!?'*_`":
            break
        url = url[:-1]
    return url if len(url.encode()) <= URL_BYTES and len(url) > len("https://") else ""


def _changes(happening: EventRecord) -> Iterator[Shared | UrlRedacted | UrlChannelRenamed]:
    channel = happening.target
    if not channel.startswith("#"):
        return
    match happening.command:
        case "REDACT":
            yield UrlRedacted(channel, happening.params[0])
        case "RENAME":
            yield UrlChannelRenamed(channel, happening.params[0], by_other_host=bool(happening.origin))
        case _:
            nick = happening.source.partition("!")[0]
            for url in find_urls(happening.text):
                yield Shared(url, channel, happening.id, happening.is_public, nick, happening.at)


def _parse(params: Sequence[str]) -> tuple[str | None, str]:
    if not params:
        return None, ""
    if len(params) == 1 and not params[0].startswith("#"):
        return (None, "") if params[0] == "*" else (None, params[0])
    if params[0] != "*" and not is_channel(params[0]):
        raise Failure("INVALID_TARGET", params[0], text="That is no channel")
    return None if params[0] == "*" else params[0], params[1] if len(params) > 1 else ""
