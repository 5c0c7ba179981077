"""Turn models of configuration files back into the data of a YAML file."""

import dataclasses
from typing import Any


def as_data(value: Any) -> Any:
    """Return a model as mappings, lists and scalars, without the keys that are at their default."""
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


def as_full_data(value: Any) -> Any:
    """Return a model as mappings, lists and scalars, with the keys that are at their default."""
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return {field.name: as_full_data(getattr(value, field.name)) for field in fields}
    if isinstance(value, tuple):
        return [as_full_data(each) for each in value]
    if isinstance(value, dict):
        return {key: as_full_data(each) for key, each in value.items()}
    return value
