"""Every page of the docs is in the site's contents, and the README's links lead to files."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = {str(page.relative_to(DOCS).with_suffix("")): page for page in DOCS.rglob("*.md")}


def listed(name):
    """Return the pages in the contents of a page."""
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", PAGES[name].read_text(), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    folder = Path(name).parent
    return {str(folder / line) for line in lines if line and not line.startswith(":")}


def test_every_page_is_listed_in_the_contents_of_another_once():
    found = [page for name in PAGES for page in listed(name)]
    assert sorted(found) == sorted(set(PAGES) - {"index"})


def test_pages_of_the_readmes_first_screen_exist():
    readme = (DOCS.parent / "README.md").read_text()
    assert len(readme.splitlines()) <= 50, "the README is one screen; the rest is in docs/"
    for target in re.findall(r"\]\(([^)#:]+)\)", readme):
        assert (DOCS.parent / target).exists(), target


def test_each_option_of_a_card_has_its_own_line():
    lines = [line for page in PAGES.values() for line in page.read_text().splitlines()]
    assert not [line for line in lines if re.search(r"\S\s+:link-type:", line)]
