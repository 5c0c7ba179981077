"""A page is checked against the sections of its template."""

import pytest

from culture.wiki.templates import Template, missing_sections, template_text
from culture.wiki.wiki import Wiki


@pytest.mark.parametrize("template", Template)
async def test_every_template_is_a_valid_page_whose_sections_are_still_to_be_written(
    wiki: Wiki, template: Template
):
    text = template_text(template)
    await wiki.write(f"drafts/{template}", text, "em")

    assert text.startswith("# ")
    assert len(missing_sections(text, template)) == text.count("\n## ")


def test_a_section_that_was_written_is_not_missing():
    text = template_text(Template.HANDOFF)
    filled = "# Handoff of Ramona\n" + "".join(
        f"## {title}\nsomething\n" for title in missing_sections(text, Template.HANDOFF)
    )

    assert missing_sections(filled, Template.HANDOFF) == []
    assert missing_sections(filled.replace("## Next\nsomething", "## Next\n"), Template.HANDOFF) == ["Next"]
