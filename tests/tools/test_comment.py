"""The comment on a pull request: written once, replaced later, without mentions and links."""

import io
import json
import subprocess
import zipfile

import pytest

from tools import comment

HEAD = "c" * 40


def zipped(text, name="review.md", method=zipfile.ZIP_DEFLATED):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", method) as files:
        files.writestr(name, text)
    return archive.getvalue()


@pytest.fixture
def github(monkeypatch):
    """Stand in for `gh api`, as GitHub's REST reference describes the endpoints."""

    class GitHub:
        pulls = [{"number": 12, "labels": [{"name": "benchmark"}], "head": {"sha": HEAD}}]
        archive: bytes | None = None
        size = 500
        earlier = ""

        def __init__(self):
            self.written = []

        def __call__(self, *arguments, text=""):
            url = next(argument for argument in arguments if argument.startswith("repos/"))
            if url.endswith("/pulls"):
                assert "head=them:topic" in arguments
                return json.dumps(self.pulls).encode()
            if url.endswith("/runs/34/artifacts"):
                found = [] if self.archive is None else [{"id": 56, "size_in_bytes": self.size}]
                return json.dumps({"artifacts": found}).encode()
            if url.endswith("/artifacts/56/zip"):
                return self.archive
            if "--jq" in arguments:
                assert comment.MARK in arguments[-1]
                return self.earlier.encode()
            self.written.append((arguments[2], url.split("/")[-2:], text))
            return b"{}"

    fake = GitHub()
    monkeypatch.setattr(comment, "gh", fake)
    return fake


def write_comment():
    return comment.main(["--run", "34", "--head", HEAD, "--branch", "them:topic"])


def test_the_first_review_is_a_new_comment_and_the_next_replaces_it(github):
    github.archive = zipped("**Passes.**")
    assert write_comment() == 0
    github.archive, github.earlier = zipped("**Regression.**"), "4\n5\n"
    assert write_comment() == 0
    assert [one[:2] for one in github.written] == [
        ("POST", ["12", "comments"]),
        ("PATCH", ["comments", "5"]),
    ]
    assert github.written[1][2] == f"{comment.MARK}\n**Regression.**"


def test_without_a_review_the_comment_says_so_and_a_long_review_is_cut(github):
    assert write_comment() == 0
    assert "No review of cccccccccc" in github.written[0][2]
    github.archive = zipped("x" * 1_000_000)
    assert write_comment() == 0
    text = github.written[1][2]
    assert len(text) < 65_536 and text.endswith("contains the whole review.")


@pytest.mark.parametrize(
    "archive",
    [
        b"no archive",
        zipped("text", name="../review.md"),
        zipped("text", method=zipfile.ZIP_LZMA),
        zipped("text" * 99)[:60] + bytes(40) + zipped("text" * 99)[60:],
    ],
    ids=["not a zip", "another name", "another method", "damaged"],
)
def test_an_archive_without_a_readable_review_counts_as_no_review(github, archive):
    github.archive = archive
    assert write_comment() == 0
    assert "No review of" in github.written[0][2]


def test_a_large_archive_is_not_fetched(github):
    github.archive, github.size = zipped("text"), comment.MAX_ARCHIVE_BYTES + 1
    assert write_comment() == 0
    assert "No review of" in github.written[0][2]


@pytest.mark.parametrize(
    "change",
    [{"labels": []}, {"labels": [{"name": "bug"}]}, {"head": {"sha": "d" * 40}}],
    ids=["no label", "another label", "a newer push"],
)
def test_a_pull_request_without_the_label_or_with_a_newer_push_gets_no_comment(github, change):
    github.pulls = [{**github.pulls[0], **change}]
    github.archive = zipped("**Passes.**")
    assert write_comment() == 0 and not github.written


def test_a_refusal_is_exit_code_2_with_its_reason(monkeypatch, capsys):
    def refused(*arguments, text=""):
        raise subprocess.CalledProcessError(1, "gh", stderr=b"HTTP 403: not accessible")

    monkeypatch.setattr(comment, "gh", refused)
    assert write_comment() == 2
    assert "HTTP 403" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reaching"),
    [
        ("@octocat", "@o"),
        ("&#64;octocat", "&#"),
        ("&commat;octocat", "&c"),
        ("#12", "#1"),
        ("GH-12", "GH-"),
        ("them/theirs#12", "#1"),
        ("[safe](/evil)", "]("),
        ("![](//evil.example/pixel.png)", "]("),
        ("[a]: //evil.example", "]:"),
        ("https://evil.example", "://"),
        ("www.evil.example", "www."),
        ("mailto:someone", "mailto:"),
        ("<img src=x>", "<i"),
        ("<!-- vcjax: review of this pull request -->", "<!"),
        ("<https:evil.example>", "<h"),
        ("<details open ontoggle=x>", "<d"),
        ("```mermaid", "```m"),
        ("~~~ geojson", "~~~ g"),
        ("a\u202eb", "\u202e"),
        ("a\x1b[2Jb", "\x1b"),
    ],
)
def test_text_of_a_branch_mentions_nobody_and_links_nowhere(text, reaching):
    assert reaching in text and reaching not in comment.harmless(text)


def test_the_markup_of_a_review_is_kept():
    text = (
        "### Review of aaaa against bbbb\n\n**Passes.** 1 &lt; 2\n\n- Base: bbbb\n\n"
        "<details><summary>Times.</summary>\n\n| Case | Change |\n"
        "| :-- | --: |\n| a/b | 1.02× |\n\n"
        "~~~\n+ add.3 = f64[3,8]{1,0} add(a, b)\n~~~\n\n</details>\n"
    )
    assert comment.harmless(text) == text
