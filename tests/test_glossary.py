"""docs/glossary.md: every term is short, in order, and linked to a page that speaks of it."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
ENTRIES = dict(re.findall(r"^## (.+)\n\n((?:.+\n)+)", (DOCS / "glossary.md").read_text(), re.MULTILINE))
LINK = re.compile(r"\[([^\]]+)\]\((\w+\.md)(?:#([\w-]+))?\)")
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def anchor_of(heading):
    """Return the anchor of a heading, as MyST and GitHub make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(page):
    return {anchor_of(line) for line in re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE)}


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_is_linked_to_a_page_that_speaks_of_it(term):
    links = LINK.findall(ENTRIES[term])
    assert links, "an entry ends with the page to read"
    for _, page, anchor in links:
        assert (DOCS / page).is_file(), page
        assert not anchor or anchor in anchors_of(DOCS / page), f"{page} has no heading #{anchor}"
    spoken = " ".join((DOCS / page).read_text().lower() for _, page, _ in links)
    assert re.search(rf"\b{re.escape(term.lower())}(s|es)?\b", spoken), f"{links} say nothing of {term}"


@pytest.mark.parametrize("term", ENTRIES)
def test_a_term_is_explained_in_a_few_sentences(term):
    text = ENTRIES[term].partition(" See\n")[0].partition(" See [")[0]
    assert 1 <= len(re.findall(r"\.(?:\s|$)", text)) <= 3, text


def test_order_and_completeness():
    assert [*ENTRIES] == sorted(ENTRIES, key=str.lower)
    named = (
        "op, kernel, schema, attribute, inference, gradient op, sbp, signature, split, broadcast, partial, job, plan"
    )
    named += ", plan, library, core, engine, host, functor, ods, fingerprint"
    assert {*named.split(", ")} <= {term.lower() for term in ENTRIES}
