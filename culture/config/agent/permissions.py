"""Model of `permissions:` in agents.yaml: which tool calls of an agent need the answer of a person."""

from dataclasses import dataclass

from culture.config.rules import absolute_path, checked


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """A rule that matches a tool call. All keys that are given must match; `*` stands for any text."""

    # The name of the tool, such as Bash, Edit or mcp__github__*.
    tool: str = ""
    # The shell command, word by word with single spaces, such as "git push *".
    command: str = ""
    # A file or directory that the call names, such as /srv/website/*.
    path: str = checked(absolute_path, default="")

    def __post_init__(self) -> None:
        if not (self.tool or self.command or self.path):
            raise ValueError("a rule needs at least one of 'tool', 'command' and 'path'")


@dataclass(frozen=True, slots=True)
class PermissionsConfig:
    """Rules for `permission_mode: ask`. The first list that has a match decides: deny, ask, allow."""

    allow: tuple[PermissionRule, ...] = ()
    ask: tuple[PermissionRule, ...] = ()
    deny: tuple[PermissionRule, ...] = ()
