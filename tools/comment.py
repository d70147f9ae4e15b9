"""Write the review of a pull request as a comment, and replace the comment after each push.

    python -m tools.comment --run ID --head COMMIT --branch OWNER:BRANCH

The command has permission to write to the pull request. Therefore it runs in a workflow of its own,
with the code of the default branch. From the reviewed branch it takes only one file of limited
size: ``review.md`` in the artefact "comment" of the run with the number ID. The text of this file
is not trusted: mentions, links and all HTML except collapsed sections are disabled in it. A pull
request gets a comment only if it is open, has the label "benchmark", and has COMMIT as its last
commit. If the commits could not be measured, the comment says so. Without this comment, readers
could mistake the review of an earlier push for the review of this push.

The command runs GitHub's program ``gh``. Exit codes: 0 if the comment was written or is not needed,
2 if it could not be written.
"""

import argparse
import io
import json
import re
import subprocess
import sys
import zipfile
import zlib

LABEL = "benchmark"
# Identifies this comment among other comments of the same account.
MARK = "<!-- vcjax: review of this pull request -->"
MAX_CHARACTERS = 65_000  # GitHub accepts at most 65536
MAX_ARCHIVE_BYTES = 1_000_000
REPOSITORY = "repos/{owner}/{repo}"  # filled in by gh
ZERO_WIDTH = "\u200b"


def main(argv=None):
    """Write or replace the comment if it is needed; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.comment", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--run",
        type=int,
        required=True,
        help="number of the workflow run that measured the commits",
    )
    parser.add_argument("--head", required=True, help="the commit to review")
    parser.add_argument("--branch", required=True, help="the branch of this commit, OWNER:BRANCH")
    options = parser.parse_args(argv)
    try:
        number = pull_request(options.branch, options.head)
        if number is None:
            print(
                f"tools.comment: no open pull request labelled {LABEL} has the head {options.head}"
            )
            return 0
        write(number, body(artefact(options.run), options.head))
    except (OSError, subprocess.SubprocessError) as error:
        why = getattr(error, "stderr", None) or str(error).encode()
        message = why.decode(errors="replace").strip()
        print(
            f"tools.comment: the review of {options.head} was not written ({message}); correct the "
            "error, and run the workflow again",
            file=sys.stderr,
        )
        return 2
    return 0


def pull_request(branch, head):
    """Return the number of the branch's pull request that should get a comment, or None."""
    query = "-f", "state=open", "-f", f"head={branch}"
    for found in json.loads(gh("api", "--method", "GET", f"{REPOSITORY}/pulls", *query)):
        labels = {label["name"] for label in found["labels"]}
        if found["head"]["sha"] == head and LABEL in labels:
            return found["number"]
    return None


def artefact(run):
    """Return the beginning of the review in a run's artefact, or None if no review can be read."""
    query = "-f", "name=comment"
    url = f"{REPOSITORY}/actions/runs/{run}/artifacts"
    for found in json.loads(gh("api", "--method", "GET", url, *query))["artifacts"]:
        if found["size_in_bytes"] <= MAX_ARCHIVE_BYTES:
            return unpacked(gh("api", f"{REPOSITORY}/actions/artifacts/{found['id']}/zip"))
    return None


def unpacked(archive):
    """Return the beginning of ``review.md`` in a zip archive, or None if reading fails."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files:
            # With methods other than deflate, zipfile can unpack far more than `read` returns.
            if files.getinfo("review.md").compress_type != zipfile.ZIP_DEFLATED:
                return None
            with files.open("review.md") as stream:
                return stream.read(4 * MAX_CHARACTERS).decode("utf-8", "replace")
    except (zipfile.BadZipFile, zlib.error, KeyError, NotImplementedError, RuntimeError, EOFError):
        return None


def body(review, head):
    """Return the comment on the commit `head`; if `review` is None, say that there is no review."""
    if review is None:
        message = (
            f"**No review of {head[:10]}**: this commit could not be measured; "
            "the workflow's log has the reason."
        )
        return f"{MARK}\n{message}\n"
    text = f"{MARK}\n{harmless(review)}"
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n\n… cut here; the artefact contains the whole review."
    return text


def harmless(text):
    """Return Markdown in which mentions, references, links, images, diagrams and HTML do nothing.

    Other Markdown and the HTML of collapsed sections keep their effect. Zero-width spaces break the
    text that GitHub would convert to mentions, links and the like. They also work in fenced
    code blocks, where a backslash or an entity would be visible.
    """
    for pattern in _INVISIBLE:
        text = re.sub(pattern, "", text)
    for pattern in _REACHING:
        text = re.sub(pattern, f"\\g<0>{ZERO_WIDTH}", text)
    return text


# Unusual spaces, and characters that move a terminal's cursor or change the direction of writing.
_INVISIBLE = (r"[^\S\n ]", r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_REACHING = (
    r"<(?!/?(?:details|summary)>)",
    r"&(?!(?:lt|gt|amp|quot);)(?=#?\w+;)",  # an entity may stand for "@"
    r"@(?=\w)|#(?=\d)|\bGH(?=-\d)",
    r"\](?=[(:\[])|:(?=//)|(?i:\bwww(?=\.)|\b(?:mailto|xmpp)(?=:))",
    r"`{3,}(?=[^`\n])|~{3,}(?=[^~\n])",
)


def write(number, text):
    """Replace the comment of an earlier push, or write the first comment."""
    comments = f"{REPOSITORY}/issues/{number}/comments"
    own = f'.[] | select(.user.type == "Bot" and (.body | startswith("{MARK}"))) | .id'
    earlier = gh("api", "--paginate", comments, "--jq", own).split()
    if earlier:
        where, method = f"{REPOSITORY}/issues/comments/{int(earlier[-1])}", "PATCH"
    else:
        where, method = comments, "POST"
    gh("api", "--method", method, where, "-F", "body=@-", text=text)


def gh(*arguments, text=""):
    """Run ``gh`` with `text` as its input, and return its output as bytes."""
    done = subprocess.run(
        ["gh", *arguments], input=text.encode(), capture_output=True, check=True, timeout=120
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
