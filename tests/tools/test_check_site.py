"""A site is checked for broken links and for files from other servers."""

import pytest

from tools.check_site import main

GOOD = """
<link rel="stylesheet" href="_static/site.css"><link rel="next" href="other.html">
<a href="other.html#place">there</a> <a href="#here">here</a> <h1 id="here">x</h1>
<a href="https://example.org/anything">elsewhere</a>
"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static" / "site.css").write_text("")
    (tmp_path / "_static" / "template.html").write_text('<img src="{{ missing }}">')
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text('<h2 id="place">y</h2>')
    return tmp_path


def test_a_site_without_broken_links_passes(site, capsys):
    assert main([str(site)]) == 0
    assert "2 pages, 0 problems" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("added", "named"),
    [
        ('<a href="missing.html">x</a>', "no such file: missing.html"),
        (f'<a href="{__file__}">a file outside the site</a>', f"no such file: {__file__}"),
        ('<a href="other.html#nowhere">x</a>', "no such anchor: other.html#nowhere"),
        ('<a href="#nowhere">x</a>', "no such anchor: #nowhere"),
        ('<img src="missing.png">', "no such file: missing.png"),
        ('<a href="http://[bad">x</a>', "not an address: http://[bad"),
        ('<img src="http://[bad">', "not an address: http://[bad"),
        ('<a href="a%00b">nul</a>', "not an address: a%00b"),
        (
            '<script src="https://cdn.example.org/a.js"></script>',
            "loads a file from another server: https://cdn.example.org",
        ),
        (
            '<link rel="stylesheet" href="//cdn.example.org/a.css">',
            "loads a file from another server: //cdn.example.org",
        ),
    ],
)
def test_broken_links_and_files_from_other_servers_are_named_with_their_page(
    site, capsys, added, named
):
    with (site / "index.html").open("a") as page:
        page.write(added)
    assert main([str(site)]) == 1
    assert f"index.html: {named}" in capsys.readouterr().out


def test_a_folder_without_a_site_is_bad_usage(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "make docs" in capsys.readouterr().err
