"""Find and rewrite the links between pages: `[[plans/disk]]` and `[the plan](../plans/disk.md)`."""

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Final

from culture.wiki.page_names import SUFFIX, is_page_name
from culture.wiki.sections import prose_lines

# A wiki link names a page from the root of the wiki, as in `[[plans/disk#Status|the plan]]`.
# A Markdown link is relative to the page that it is on, as Git forges show it.
_LINK: Final = re.compile(
    r"\[\[(?P<name>[^\[\]|#\n]+)(?=[\]|#])|\]\(<?(?P<path>[^()\s#<>]+" + re.escape(SUFFIX) + r")(?=[\s#)>])"
)
_CODE_SPAN: Final = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")


def links_of(page: str, text: str) -> list[str]:
    """Return the names of the pages that this page links to, in order."""
    found: list[str] = []

    def collect(name: str) -> str:
        found.append(name)
        return name

    _map_links(page, page, text, collect)
    return found


def rewrite_links(page: str, text: str, old: str, new: str) -> str:
    """Return the text of a page after the page `old` was renamed to `new`.

    If it is the renamed page itself, its relative links start from its new place.
    """
    place = new if page == old else page
    return _map_links(page, place, text, lambda name: new if name == old else name)


def _map_links(page: str, place: str, text: str, change: Callable[[str], str]) -> str:
    """Replace the target of every link on `page`, whose text will be at `place`."""

    has_moved = posixpath.dirname(place) != posixpath.dirname(page)

    def replaced(match: re.Match[str]) -> str:
        path = match["path"]
        if path is None:
            target = match["name"].strip()
            name = change(target) if is_page_name(target) else target
            return match[0] if name == target else f"[[{name}"
        target = _resolve(page, path)
        name = change(target) if is_page_name(target) else target
        # A relative path of a page that moves is kept leading to the same place, even if that is no page.
        if name == target and (path.startswith("/") or "://" in path or not has_moved):
            return match[0]
        return match[0].replace(path, _path_from(place, name, is_absolute=path.startswith("/")))

    return "".join(_LINK.sub(replaced, piece) if is_prose else piece for piece, is_prose in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into prose and code; links in code are only examples."""
    for _, line, is_prose in prose_lines(text):
        if not is_prose:
            yield line, False
            continue
        at = 0
        for span in _CODE_SPAN.finditer(line):
            yield line[at : span.start()], True
            yield span[0], False
            at = span.end()
        yield line[at:], True


def _resolve(page: str, path: str) -> str:
    """Return the page that a path on a page leads to; the result is no page name if it leads elsewhere."""
    if path.startswith("/"):
        return posixpath.normpath(path).lstrip("/").removesuffix(SUFFIX)
    joined = posixpath.join(posixpath.dirname(page), path)
    return posixpath.normpath(joined).removesuffix(SUFFIX)


def _path_from(page: str, name: str, *, is_absolute: bool) -> str:
    if is_absolute:
        return f"/{name}{SUFFIX}"
    return posixpath.relpath(name + SUFFIX, posixpath.dirname(page) or ".")
