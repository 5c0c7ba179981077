"""The table of what an agent can have done: whatever comes as arguments fits it, or is refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culture.agent.skill.verbs import VERBS, complete
from culture.agent.tools.commands import COMMANDS
from culture.errors import UsageError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=3,
)


@given(st.sampled_from(sorted(COMMANDS)), st.data())
def test_arguments_have_the_types_that_the_row_says(name, data):
    row = COMMANDS[name]
    given_ = {each.name: data.draw(JSON) for each in row.parameters}
    try:
        found = complete(row, given_)
    except UsageError:
        return

    assert found.keys() == {each.name for each in row.parameters}
    for each in row.parameters:
        value = found[each.name]
        assert type(value) is each.kind or (value is None and not each.is_required)


def test_what_is_not_said_is_what_the_table_says():
    asked = complete(VERBS["ask"], {"channel": "#ops", "question": "which?"})

    assert asked == {"channel": "#ops", "timeout": 300, "question": "which?"}
    assert complete(VERBS["read"], {"channel": "#ops"})["limit"] == 50


@pytest.mark.parametrize("name", VERBS)
def test_a_schema_has_every_parameter_and_says_what_each_is_for(name):
    schema = VERBS[name].schema

    assert set(schema["required"]) <= schema["properties"].keys()
    assert all(each["description"] for each in schema["properties"].values())
