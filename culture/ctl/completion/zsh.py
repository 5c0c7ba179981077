"""Completion for zsh."""

from collections.abc import Iterable

from culture.ctl.completion.description import Option, Value, VerbDescription

_HEAD = """\
#compdef culturectl
# Completion of culturectl for zsh. Made by 'culturectl completion zsh'.

__culturectl_names() {
    # The first value of each JSON object is the name.
    local -a names
    names=(${(f)"$(culturectl --quiet $1 --json 2>/dev/null | sed -n 's/^{"[a-z]*": "\\([^"]*\\)".*/\\1/p')"})
    compadd -a names
}

_culturectl() {
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C \\
"""
_ACTIONS = {
    "nick": "{__culturectl_names list-agents}",
    "host": "{__culturectl_names list-hosts}",
    "file": "_files",
    "directory": "_files -/",
    "none": " ",
}


def script(verbs: Iterable[VerbDescription], common: Iterable[Option]) -> str:
    """Return the completion script."""
    verbs = list(verbs)
    lines = [_HEAD]
    lines += [f"        {_specification(option, name)} \\\n" for option in common for name in option.names]
    lines.append(
        "        '1: :->verb' '*:: :->rest'\n    case $state in\n    verb)\n        local -a verbs\n"
    )
    lines += ["        verbs=(\n"]
    lines += [f"            {_quoted(f'{verb.name}:{verb.summary}')}\n" for verb in verbs]
    lines += ["        )\n        _describe verb verbs ;;\n    rest)\n        case $words[1] in\n"]
    for verb in verbs:
        words = [_specification(option, name) for option in verb.options for name in option.names]
        words += [_quoted(f"*: :{_action(value)}") for value in verb.values[:1]]
        lines.append(f"        {verb.name}) _arguments {' '.join(words)} ;;\n")
    lines.append('        esac ;;\n    esac\n}\n\n_culturectl "$@"\n')
    return "".join(lines)


def _specification(option: Option, name: str) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", ",")
    value = "" if option.value is None else f": :{_action(option.value)}"
    return _quoted(f"{name}[{text}]{value}")


def _action(value: Value) -> str:
    return f"({' '.join(value.words)})" if value.kind == "words" else _ACTIONS[value.kind]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
