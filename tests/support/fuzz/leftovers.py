"""What an object still holds on to, however deep inside."""

import gc
from collections.abc import Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_LEAVES = (str, bytes, int, float, bool, type(None), type, ModuleType, BuiltinFunctionType)


def held_by(*roots: object) -> Iterator[Any]:
    """Everything that can be reached from these objects: what is forgotten is not among it."""
    seen = {id(root) for root in roots}
    left: list[Any] = list(roots)
    while left:
        held = left.pop()
        yield held
        for referent in _referents(held):
            if id(referent) not in seen and not isinstance(referent, _LEAVES):
                seen.add(id(referent))
                left.append(referent)


def _referents(held: Any) -> Iterable[Any]:
    if isinstance(held, FunctionType):
        # Not its module, where everything can be reached.
        return (held.__closure__, held.__defaults__, held.__kwdefaults__)
    return gc.get_referents(held)
