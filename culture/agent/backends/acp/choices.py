"""Choose model, thinking and mode of a new session among those that the agent offers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """The request that makes a choice, and the other values that the agent offers."""

    what: str
    value: str
    method: str
    params: Mapping[str, str]
    offered: tuple[str, ...] = ()


def model_of(answer: Answer) -> str:
    """Return the agent's default model; empty if the agent does not say."""
    option = _option(answer, "model")
    return str(option.get("currentValue") or (answer.get("models") or {}).get("currentModelId") or "")


def choices(answer: Answer, model: str, thinking: str, mode: str) -> Iterator[Choice]:
    """Return the choices to make, from the answer to session/new, session/load or session/resume."""
    if model and model != model_of(answer):
        if option := _option(answer, "model"):
            yield _by_option("model", option, model)
        else:
            known = tuple(each["modelId"] for each in (answer.get("models") or {}).get("availableModels", ()))
            yield Choice("model", model, "session/set_model", {"modelId": model}, known)
    level = _option(answer, "thought_level")
    # Each agent has levels of its own; one that it does not know is left alone.
    if level and thinking in _values(level):
        yield _by_option("thinking", level, thinking)
    if mode:
        yield Choice("mode", mode, "session/set_mode", {"modeId": mode})


def _option(answer: Answer, category: str) -> Mapping[str, Any]:
    options: list[Mapping[str, Any]] = answer.get("configOptions") or []
    return next((option for option in options if option.get("category") == category), {})


def _by_option(what: str, option: Mapping[str, Any], value: str) -> Choice:
    params = {"configId": str(option["id"]), "value": value}
    return Choice(what, value, "session/set_config_option", params, tuple(_values(option)))


def _values(option: Mapping[str, Any]) -> Iterator[str]:
    """Return the values of an option, which may be in groups."""
    for each in option.get("options") or ():
        if "value" in each:
            yield each["value"]
        else:
            yield from _values(each)
