"""Completion for bash."""

import shlex
from collections.abc import Iterable

from culture.ctl.completion.description import Option, Value, VerbDescription

_HEAD = """\
# Completion of culturectl for bash. Made by 'culturectl completion bash'.

__culturectl_names() {
    # The first value of each JSON object is the name.
    culturectl --quiet "$1" --json 2>/dev/null | sed -n 's/^{"[a-z]*": "\\([^"]*\\)".*/\\1/p'
}

__culturectl_value() {
    case $1 in
        nick) COMPREPLY=($(compgen -W "$(__culturectl_names list-agents)" -- "$cur")) ;;
        host) COMPREPLY=($(compgen -W "$(__culturectl_names list-hosts)" -- "$cur")) ;;
        file) COMPREPLY=($(compgen -f -- "$cur")) ;;
        directory) COMPREPLY=($(compgen -d -- "$cur")) ;;
        none) ;;
        *) COMPREPLY=($(compgen -W "$1" -- "$cur")) ;;
    esac
}

_culturectl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb= word
    COMPREPLY=()
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ $word != -* ]]; then verb=$word; break; fi
    done
    case $verb:$prev in
"""
_MIDDLE = """\
    esac
    local options values
    case $verb in
"""
_TAIL = """\
    esac
    if [[ $cur == -* || -z $verb ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    fi
    if [[ $cur != -* && -n $verb ]]; then
        __culturectl_value "$values"
    fi
}

complete -o filenames -F _culturectl culturectl
"""


def script(verbs: Iterable[VerbDescription], common: Iterable[Option]) -> str:
    """Return the completion script."""
    verbs = list(verbs)
    lines = [_HEAD]
    for verb in verbs:
        for option in verb.options:
            if option.value is not None:
                patterns = "|".join(f"{verb.name}:{name}" for name in option.names)
                lines.append(f"        {patterns}) __culturectl_value {_word(option.value)}; return ;;\n")
    lines.append(_MIDDLE)
    names = " ".join([*(verb.name for verb in verbs), *_names(common)])
    lines.append(f"        '') options={shlex.quote(names)} values=none ;;\n")
    for verb in verbs:
        options = shlex.quote(" ".join(_names([*verb.options, *common])))
        value = _word(verb.values[0]) if verb.values else "none"
        lines.append(f"        {verb.name}) options={options} values={value} ;;\n")
    return "".join([*lines, _TAIL])


def _names(options: Iterable[Option]) -> list[str]:
    return list(dict.fromkeys(name for option in options for name in option.names))


def _word(value: Value) -> str:
    return shlex.quote(" ".join(value.words)) if value.kind == "words" else value.kind
