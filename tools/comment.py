"""Put a review under a pull request: one comment, written again with every push.

    python -m tools.comment NUMBER review.md --head COMMIT

Runs GitHub's ``gh``. Where there is no review, because the commits could not be measured, the
comment says that; the one of an earlier push would be taken for the verdict on this one. Exit
codes: 0 told, 2 GitHub refused, as it does for pull requests from forks.
"""

import argparse
import os
import subprocess
import sys

# Found again by this, whatever else comments in the same name.
MARK = "<!-- vcjax: review of this pull request -->"
MOST_CHARACTERS = 65_000  # GitHub takes 65536


def main(argv=None):
    """Write or replace the comment; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.comment", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("number", help="of the pull request")
    parser.add_argument("review", help="Markdown, of tools.review")
    parser.add_argument("--head", required=True, help="the commit that was to be reviewed")
    options = parser.parse_args(argv)
    comments = f"repos/{{owner}}/{{repo}}/issues/{options.number}/comments"
    own = f'.[] | select(.user.type == "Bot" and (.body | startswith("{MARK}"))) | .id'
    try:
        earlier = gh("api", "--paginate", comments, "--jq", own).split()
        if earlier:
            where, method = f"repos/{{owner}}/{{repo}}/issues/comments/{earlier[-1]}", "PATCH"
        else:
            where, method = comments, "POST"
        gh("api", "--method", method, where, "-F", "body=@-", text=body(options))
    except (OSError, subprocess.CalledProcessError) as error:
        why = getattr(error, "stderr", None) or error
        print(f"tools.comment: the review was not told: {str(why).strip()}", file=sys.stderr)
        return 2
    return 0


def body(options):
    """The comment's text."""
    if not os.path.exists(options.review):
        said = f"**No review of {options.head[:10]}**: it could not be measured; the log says why."
        return f"{MARK}\n{said}\n"
    with open(options.review, encoding="utf-8") as stream:
        text = f"{MARK}\n{stream.read()}"
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}\n\n… cut: the artefact holds all of it."
    return text


def gh(*arguments, text=None):
    """What ``gh`` prints."""
    done = subprocess.run(
        ["gh", *arguments], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
