"""A rename rewrites every link to the page, and no other text."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from culture.wiki.links import links_of, rewrite_links
from culture.wiki.wiki import Wiki


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[plans/disk]]", "[[plans/cleanup]]"),
        ("see [[plans/disk|the plan]]", "see [[plans/cleanup|the plan]]"),
        ("see [[plans/disk#Risks]]", "see [[plans/cleanup#Risks]]"),
        ("[it](plans/disk.md)", "[it](plans/cleanup.md)"),
        ("[it](./plans/disk.md#risks)", "[it](plans/cleanup.md#risks)"),
        ('[it](/plans/disk.md "title")', '[it](/plans/cleanup.md "title")'),
        ("[it](<plans/disk.md>)", "[it](<plans/cleanup.md>)"),
        ("[[plans/disk2]] [[plans]] [x](disk.md)", "[[plans/disk2]] [[plans]] [x](disk.md)"),
        ("plans/disk and plans/disk.md", "plans/disk and plans/disk.md"),
        ("`[[plans/disk]]` [[plans/disk]]", "`[[plans/disk]]` [[plans/cleanup]]"),
        ("```\n[[plans/disk]]\n```\n[[plans/disk]]", "```\n[[plans/disk]]\n```\n[[plans/cleanup]]"),
        ("[x](https://example.org/plans/disk.md)", "[x](https://example.org/plans/disk.md)"),
        ("[x](../../../plans/disk.md)", "[x](../../../plans/disk.md)"),
    ],
)
def test_links_to_a_renamed_page_are_rewritten(before: str, after: str):
    assert rewrite_links("sprint", before, "plans/disk", "plans/cleanup") == after


def test_relative_links_of_a_renamed_page_start_from_its_new_place():
    text = "[up](../sprint.md) [next](tls.md) [[sprint]] [me](disk.md)"

    moved = rewrite_links("plans/disk", text, "plans/disk", "done/2026/disk")

    assert moved == "[up](../../sprint.md) [next](../../plans/tls.md) [[sprint]] [me](disk.md)"


NAMES = ["sprint", "a", "a/a", "a/b", "b", "b/a/c", "A.b", "a-b"]
names = st.sampled_from(NAMES)
words = st.sampled_from(
    ["plain", "a.md", "[[", "]]", "`", "```", "(", "](", "\n", "é", "#", "|", "a/b", "\u2028"]
)


@st.composite
def links(draw: st.DrawFn) -> str:
    target = draw(names)
    depth = draw(st.integers(0, 3))
    heading = draw(st.sampled_from(["", "#Status"]))
    path = draw(st.sampled_from(["", "./", "/", "../" * depth])) + target
    return draw(st.sampled_from([f"[[{target}{heading}]]", f"[[{target}|x]]", f"[x]({path}.md{heading})"]))


texts = st.lists(links() | words, max_size=12).map(" ".join)


@given(page=names, text=texts, old=names, new=st.sampled_from([*NAMES, "new", "x/new", "x/y/new"]))
def test_a_rename_maps_the_links_of_a_page_and_nothing_else(page: str, text: str, old: str, new: str):
    assume(new not in (page, old))
    place = new if page == old else page

    renamed = rewrite_links(page, text, old, new)

    assert links_of(place, renamed) == [new if name == old else name for name in links_of(page, text)]
    # Back again it is the same page, as far as links go: only their spelling may differ.
    if new not in links_of(page, text):
        back = rewrite_links(place, renamed, new, old)
        assert links_of(page, back) == links_of(page, text)


@settings(max_examples=5, deadline=None)
@given(pages=st.dictionaries(names, texts, min_size=1, max_size=4), data=st.data())
def test_a_rename_keeps_the_graph_of_links_in_a_real_wiki(pages: dict[str, str], data: st.DataObject):
    old = data.draw(st.sampled_from(sorted(pages)))

    async def scenario(place: Path) -> None:
        wiki = await Wiki.open(place)
        for name, text in pages.items():
            await wiki.write(name, f"# {name}\n{text}", "em")
        before = {name: links_of(name, (await wiki.read(name)).text) for name in pages}

        await wiki.rename(old, "x/new", "em")

        def mapped(name: str) -> str:
            return "x/new" if name == old else name

        after = {name: links_of(name, (await wiki.read(name)).text) for name in await wiki.pages()}
        assert after == {mapped(name): [mapped(each) for each in found] for name, found in before.items()}
        assert len(await wiki.recent_changes()) == len(pages) + 1

    # Some of the names differ only in case, which a wiki refuses.
    if len({name.lower() for name in pages}) == len(pages):
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(scenario(Path(directory) / "wiki.git"))
