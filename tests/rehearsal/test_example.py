import pytest

from culture.rehearsal.example import example_of


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, {}),
        ({}, {}),
        ({"type": "string"}, "Rehearsal"),
        ({"enum": ["a", "b"]}, "a"),
        ({"const": 7}, 7),
        ({"type": ["null", "string"]}, None),
        ({"type": "array", "items": {}}, []),
        (
            {
                "type": "object",
                "properties": {"ok": {"type": "boolean"}, "why": {"type": "string"}},
                "required": ["ok"],
            },
            {"ok": False},
        ),
    ],
)
def test_an_example_is_what_its_schema_accepts(schema, value):
    assert example_of(schema) == value
