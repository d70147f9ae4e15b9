"""Write a review as a comment on a pull request: one comment, replaced with every push.

    python -m tools.comment NUMBER review.md --head COMMIT

Runs GitHub's ``gh``. If the commits could not be measured, the comment says so, because the review
of an earlier push would be taken for the verdict on this push. Exit codes: 0 written, 2 refused by
GitHub, as for pull requests from forks.
"""

import argparse
import os
import subprocess
import sys

# Identifies the comment among others of the same account.
MARK = "<!-- vcjax: review of this pull request -->"
MAX_CHARACTERS = 65_000  # GitHub takes 65536


def main(argv=None):
    """Write or replace the comment; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.comment", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("number", help="number of the pull request")
    parser.add_argument("review", help="Markdown file from tools.review")
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
        print(f"tools.comment: the review was not written: {str(why).strip()}", file=sys.stderr)
        return 2
    return 0


def body(options):
    """Return the text of the comment."""
    if not os.path.exists(options.review):
        message = f"**No review of {options.head[:10]}**: it could not be measured; see the log."
        return f"{MARK}\n{message}\n"
    with open(options.review, encoding="utf-8") as stream:
        text = f"{MARK}\n{stream.read()}"
    if len(text) > MAX_CHARACTERS:
        text = f"{text[:MAX_CHARACTERS]}\n\n… cut: the artefact has the rest."
    return text


def gh(*arguments, text=None):
    """Return the output of ``gh``."""
    done = subprocess.run(
        ["gh", *arguments], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
