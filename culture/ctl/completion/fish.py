"""Completion for fish."""

from collections.abc import Iterable

from culture.ctl.completion.description import Option, Value, VerbDescription

_HEAD = """\
# Completion of culturectl for fish. Made by 'culturectl completion fish'.

function __culturectl_names
    # The first value of each JSON object is the name.
    culturectl --quiet $argv --json 2>/dev/null |
        string replace --filter --regex '^{"[a-z]*": "([^"]*)".*' '$1'
end

complete -c culturectl -f
"""
_ACTIONS = {
    "nick": "-a '(__culturectl_names list-agents)'",
    "host": "-a '(__culturectl_names list-hosts)'",
    "file": "-F",
    "directory": "-a '(__fish_complete_directories)'",
    "none": "",
}


def script(verbs: Iterable[VerbDescription], common: Iterable[Option]) -> str:
    """Return the completion script."""
    lines = [_HEAD]
    lines += [_option("__fish_use_subcommand", option) for option in common]
    for verb in verbs:
        summary = _quoted(verb.summary)
        lines.append(f"complete -c culturectl -n __fish_use_subcommand -a {verb.name} -d {summary}\n")
        condition = f"'__fish_seen_subcommand_from {verb.name}'"
        lines += [_option(condition, option) for option in verb.options]
        for value in verb.values[:1]:
            if value.kind != "none":
                lines.append(f"complete -c culturectl -n {condition} {_action(value)}\n")
    return "".join(lines)


def _option(condition: str, option: Option) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
    value = "" if option.value is None else f" -r {_action(option.value)}"
    return f"complete -c culturectl -n {condition} {names}{value.rstrip()} -d {_quoted(option.help)}\n"


def _action(value: Value) -> str:
    return f"-a {_quoted(' '.join(value.words))}" if value.kind == "words" else _ACTIONS[value.kind]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
