"""The tools for the wiki: read, write, edit, list, search, history, rename, delete, templates."""

from typing import Annotated, Final

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from culture.bridge.access import check_sender, check_wiki_allowed
from culture.bridge.calls import Caller, reported
from culture.bridge.channel_tools import Sender
from culture.wiki.changes import Change
from culture.wiki.templates import Template, template_text
from culture.wiki.wiki import Wiki

_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# Every revision stays in the history, so nothing is destroyed.
_WRITES: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)

PageName = Annotated[str, Field(description="The name of the page, such as plans/disk-cleanup.")]
Base = Annotated[str, Field(description="The revision that you have read. Empty for a new page.")]
Summary = Annotated[str, Field(description="What you changed and why, in one line.")]
Limit = Annotated[int, Field(description="How many rows at most, 1 to 500.", ge=1, le=500)]


class PageRow(TypedDict):
    """A page or a section."""

    page: str
    text: str
    revision: str
    author: str
    changed_at: str


class HitRow(TypedDict):
    """A line that a search found."""

    page: str
    line_number: int
    line: str


class ChangeRow(TypedDict):
    """A change of one or more pages."""

    revision: str
    author: str
    at: str
    summary: str
    pages: list[str]


def add_wiki_tools(server: MCPServer[None], wiki: Wiki, caller: Caller) -> None:
    """Register the tools."""

    def reader() -> None:
        check_wiki_allowed(caller.admit(), is_change=False)

    def author(sender: str) -> str:
        client = caller.admit()
        check_wiki_allowed(client, is_change=True)
        return check_sender(client, sender)

    @server.tool(annotations=_READS)
    @reported
    async def wiki_read(
        page: PageName,
        section: Annotated[str, Field(description="Only the section with this heading.")] = "",
        revision: Annotated[str, Field(description="The page as it was at this revision.")] = "",
    ) -> PageRow:
        """Read a page of the wiki, or a section of it, and its revision."""
        reader()
        found = await wiki.read(page, section=section, revision=revision)
        return PageRow(
            page=found.name,
            text=found.text,
            revision=found.revision,
            author=found.author,
            changed_at=found.changed_at.isoformat(),
        )

    @server.tool(annotations=_WRITES)
    @reported
    async def wiki_write(
        page: PageName,
        text: Annotated[str, Field(description="The whole page in Markdown.")],
        base: Base = "",
        summary: Summary = "",
        sender: Sender = "",
    ) -> str:
        """Write a whole page. It is refused, with what changed, if the page has changed since `base`."""
        revision = await wiki.write(page, text, author(sender), base=base, summary=summary)
        return f"'{page}' is now at revision {revision}"

    @server.tool(annotations=_WRITES)
    @reported
    async def wiki_edit(
        page: PageName,
        old: Annotated[str, Field(description="The passage to replace; it must occur exactly once.")],
        new: Annotated[str, Field(description="What to write instead.")],
        base: Base = "",
        summary: Summary = "",
        sender: Sender = "",
    ) -> str:
        """Replace one passage of a page."""
        revision = await wiki.edit(page, old, new, author(sender), base=base, summary=summary)
        return f"'{page}' is now at revision {revision}"

    @server.tool(annotations=_READS)
    @reported
    async def wiki_list(
        prefix: Annotated[str, Field(description="Only pages whose names begin with this.")] = "",
    ) -> list[str]:
        """List the pages of the wiki."""
        reader()
        return await wiki.pages(prefix)

    @server.tool(annotations=_READS)
    @reported
    async def wiki_search(
        query: Annotated[str, Field(description="Words that the page must contain.")], limit: Limit = 50
    ) -> list[HitRow]:
        """Find pages that contain all words of the query."""
        reader()
        hits = await wiki.search(query, limit)
        return [HitRow(page=hit.page, line_number=hit.line_number, line=hit.line) for hit in hits]

    @server.tool(annotations=_READS)
    @reported
    async def wiki_history(page: PageName, limit: Limit = 50) -> list[ChangeRow]:
        """List the changes of a page, the newest first."""
        reader()
        return [_row(change) for change in await wiki.history(page, limit)]

    @server.tool(annotations=_READS)
    @reported
    async def wiki_recent_changes(limit: Limit = 50) -> list[ChangeRow]:
        """List the changes of all pages, the newest first."""
        reader()
        return [_row(change) for change in await wiki.recent_changes(limit)]

    @server.tool(annotations=_WRITES)
    @reported
    async def wiki_rename(
        page: PageName,
        new_name: Annotated[str, Field(description="The new name of the page.")],
        summary: Summary = "",
        sender: Sender = "",
    ) -> str:
        """Rename a page and rewrite all links to it."""
        await wiki.rename(page, new_name, author(sender), summary=summary)
        return f"'{page}' is now called '{new_name}'"

    @server.tool(annotations=_WRITES)
    @reported
    async def wiki_delete(
        page: PageName,
        base: Annotated[str, Field(description="The revision that you have read.")],
        summary: Summary = "",
        sender: Sender = "",
    ) -> str:
        """Delete a page. Its history stays."""
        await wiki.delete(page, author(sender), base=base, summary=summary)
        return f"'{page}' was deleted"

    @server.tool(annotations=_READS)
    @reported
    async def wiki_template(
        template: Annotated[Template, Field(description="Which template.")],
    ) -> str:
        """Return the template of a sprint page, a plan, a handoff or a decision, to be filled in."""
        reader()
        return template_text(template)


def _row(change: Change) -> ChangeRow:
    return ChangeRow(
        revision=change.revision,
        author=change.author,
        at=change.at.isoformat(),
        summary=change.summary,
        pages=list(change.pages),
    )
