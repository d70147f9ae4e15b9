"""Check that the links of a built site lead to files, and that its pages load only local files.

    python -m tools.check_site results/site    # prints a line for each problem

A link that names no server must lead to a file of the site. If the link names an anchor of a page,
the page must contain that anchor. Pages must work offline, so a picture, script or style sheet from
another server is an error. Links to other servers are allowed, and are not visited.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {"script": "src", "img": "src", "link": "href", "source": "src", "iframe": "src"}
# Values of `rel` for which a <link> only names another page, and loads nothing.
NAMING = {"search", "next", "prev", "index", "author", "canonical"}


class Page(HTMLParser):
    """The links of an HTML file, the files that it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in LOADING and LOADING[tag] in given:
            is_name = tag == "link" and given.get("rel") in NAMING
            (self.links if is_name else self.loaded).append(given[LOADING[tag]])


def pages_of(site: Path) -> list[Path]:
    """Return the paths of a site's pages, without the templates of its theme."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def problems(site: Path) -> Iterator[str]:
    """Yield a line for each broken link and for each file from another server."""
    site = site.resolve()
    pages = {path: Page(path) for path in pages_of(site)}
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in (*page.links, *page.loaded):
            try:
                parts = urlsplit(target)
                file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            except ValueError:
                yield f"{name}: not an address: {target}"
                continue
            if parts.netloc and target in page.loaded:
                yield f"{name}: loads a file from another server: {target}"
            if parts.scheme or parts.netloc:
                continue
            if not (file.is_file() and file.is_relative_to(site)):
                yield f"{name}: no such file: {target}"
            elif parts.fragment and file in pages and file.suffix == ".html":
                if unquote(parts.fragment) not in pages[file].anchors:
                    yield f"{name}: no such anchor: {target}"


def main(argv: Sequence[str] | None = None) -> int:
    """Check the site in a folder, and return the exit code.

    The code is 0 if the site has no problems, 1 if it has problems, and 2 if there is no site.
    """
    arguments = sys.argv[1:] if argv is None else argv
    site = Path(arguments[0] if arguments else "results/site")
    if not (site / "index.html").is_file():
        print(f"check_site: no index.html in {site}; build the site: make docs", file=sys.stderr)
        return 2
    found = list(dict.fromkeys(problems(site)))
    for line in found:
        print(line)
    print(f"{len(pages_of(site))} pages, {len(found)} problems")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
