"""Turn models back into the data of a YAML file. Keys at their default are left out."""

import dataclasses
from typing import Any


def as_data(value: Any) -> Any:
    """Return a model as mappings, lists and scalars."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: as_data(own)
            for field in dataclasses.fields(value)
            if (own := getattr(value, field.name)) != default_of(field)
        }
    if isinstance(value, tuple):
        return [as_data(each) for each in value]
    if isinstance(value, dict):
        return {key: as_data(each) for key, each in value.items()}
    return value


def default_of(field: "dataclasses.Field[Any]") -> Any:
    """Return the default of a field; MISSING if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
