"""irc: speak and read on IRC as an agent does, through its daemon's socket.

An agent runs it for every word it says, so it starts fast: the standard library's smaller half, and
no parser of options where twenty lines do.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from culture.agent.skill.calling import call, own_proof, socket_of
from culture.agent.skill.showing import SHOW
from culture.agent.skill.verbs import VERBS, Parameter, SkillVerb, complete
from culture.errors import UsageError, run

Json = dict[str, Any]

MCP: Final = "mcp"

_OPTIONS: Final = """\
  --nick NICK            the agent to speak as; else $CULTURE_NICK, which an agent has in its environment
  --json                 print what the daemon answers as it is

Quote a channel: irc send '#general' 'hello'. A bare # begins a comment in a shell. TEXT - is standard input.
"""


def main() -> None:
    sys.exit(run("irc", lambda: _main(sys.argv[1:])))


def _main(words: Sequence[str]) -> int:
    if words and words[0] in ("-h", "--help"):
        sys.stdout.write(usage())
        return 0
    nick, is_json, words = _options(words)
    if words[:1] == [MCP]:
        return _serve(nick, words[1:])
    verb = _find_verb(words)
    request = {"type": verb.request, **complete(verb, arguments(verb, words[1:]))}
    by = {"by": "person"} if nick is not None else own_proof(os.environ)
    answer = call(socket_of(nick, os.environ), {**request, **by}, lambda text: print(text, file=sys.stderr))
    if is_json:
        print(json.dumps(answer, ensure_ascii=False))
        return 0
    shown = SHOW[verb.request](answer)
    for note in shown.notes:
        print(note, file=sys.stderr)
    for line in shown.lines:
        print(line)
    return 0


def _options(words: Sequence[str]) -> tuple[str | None, bool, list[str]]:
    """What stands before the verb: which agent, whether in JSON; then the rest."""
    nick, is_json, rest = None, False, list(words)
    while rest and rest[0] in ("--nick", "--json"):
        option = rest.pop(0)
        if option == "--json":
            is_json = True
        elif rest:
            nick = rest.pop(0)
        else:
            raise UsageError("--nick needs a nick")
    return nick, is_json, rest


def _find_verb(words: Sequence[str]) -> SkillVerb:
    verb = VERBS.get(words[0]) if words else None
    if verb is None:
        told = f"unknown verb '{words[0]}'" if words else "a verb is missing"
        raise UsageError(told, hint=f"known verbs: {', '.join(VERBS)}, {MCP}; see irc --help")
    return verb


def _serve(nick: str | None, words: Sequence[str]) -> int:
    if words:
        raise UsageError(f"{MCP} takes no arguments")
    # A program that serves loads more than one that says a word.
    from culture.agent.skill.mcp import serve

    serve(socket_of(nick, os.environ), sys.stdin.buffer, sys.stdout.buffer)
    return 0


def arguments(verb: SkillVerb, words: Sequence[str]) -> Json:
    """What the words say, by the names of the parameters."""
    found: Json = {}
    rest = list(words)
    options = {f"--{each.name}": each for each in verb.parameters if each.is_option}
    for each in (each for each in verb.parameters if not each.is_option):
        _take_options(found, rest, options, verb)
        if not rest:
            break
        if each.is_text:
            _take_options_behind(found, rest, options, verb)
            # Text is whatever else stands there, also if it looks like an option.
            found[each.name], rest = _text(rest), []
        else:
            found[each.name] = _value(each, rest.pop(0), verb)
    _take_options(found, rest, options, verb)
    if rest or any(each.is_required and each.name not in found for each in verb.parameters):
        raise _wrong(verb)
    return found


def _take_options(found: Json, rest: list[str], options: dict[str, Parameter], verb: SkillVerb) -> None:
    while rest and rest[0] in options:
        option = options[rest.pop(0)]
        if not rest:
            raise _wrong(verb)
        found[option.name] = _value(option, rest.pop(0), verb)


def _take_options_behind(
    found: Json, rest: list[str], options: dict[str, Parameter], verb: SkillVerb
) -> None:
    """At the end of a text they are options, too; in the middle they are what somebody writes about."""
    while len(rest) > 2 and rest[-2] in options:
        word, option = rest.pop(), options[rest.pop()]
        found[option.name] = _value(option, word, verb)


def _value(parameter: Parameter, word: str, verb: SkillVerb) -> str | int:
    if parameter.kind is str:
        return word
    if not word.isdecimal() or not word.isascii():
        raise _wrong(verb)
    return int(word)


def _text(words: Sequence[str]) -> str:
    return sys.stdin.buffer.read().decode(errors="replace") if words == ["-"] else " ".join(words)


def _wrong(verb: SkillVerb) -> UsageError:
    name = next(name for name, each in VERBS.items() if each is verb)
    if not verb.parameters:
        return UsageError(f"{name} takes no arguments", hint=f"irc {name}, with --nick and --json before it")
    return UsageError(f"it is: irc {_synopsis(name, verb)}", hint=f"{verb.example}, with the quotes")


def _synopsis(name: str, verb: SkillVerb) -> str:
    return " ".join([name, *(each.usage for each in verb.parameters)])


def usage() -> str:
    rows = [(_synopsis(name, verb), verb.about) for name, verb in VERBS.items()]
    rows.append((MCP, "serve these as tools, by MCP on standard input and output"))
    told = [f"  {synopsis}\n      {about}" for synopsis, about in rows]
    return "\n".join(["usage: irc [--nick NICK] [--json] VERB …", "", *told, "", _OPTIONS])


if __name__ == "__main__":
    main()
