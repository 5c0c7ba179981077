"""Make the smallest value that a JSON schema accepts, for questions whose answer does not matter."""

from typing import Any

_EXAMPLES: dict[str, Any] = {
    "string": "Rehearsal",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
    "null": None,
}


def example_of(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return {}
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: example_of(properties.get(name)) for name in schema.get("required", [])}
    return _EXAMPLES.get(kind if isinstance(kind, str) else kind[0], {})
