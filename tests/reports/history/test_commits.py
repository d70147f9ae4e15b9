"""The order, dates and subjects of commits, with and without git."""

import subprocess

import pandas as pd

from reports.commits import ordered_commits


def git(folder, *arguments, date="2026-01-01T12:00:00+00:00"):
    names = {"HOME": str(folder)}
    for who in ("GIT_AUTHOR", "GIT_COMMITTER"):
        names |= {f"{who}_NAME": "x", f"{who}_EMAIL": "x@example.org", f"{who}_DATE": date}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=names, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


# Characters at which `str.splitlines` breaks lines, and other characters that git accepts.
ODD = "second \u2028 \u0085 \x0c \x1c \x1f \t | <b>"


def test_commits_have_gits_order_and_subject_and_others_are_placed_by_date(tmp_path):
    git(tmp_path, "init", "-q", "-b", "local")
    made = []
    for day, subject in (("09", "first"), ("05", ODD)):
        date = f"2026-01-{day}T12:00:00+00:00"
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject, date=date)
        made.append(git(tmp_path, "rev-parse", "HEAD"))
    days = pd.to_datetime(["2026-02-03", "2026-02-01", "2026-02-02"])
    when = dict(zip([*made, "local"], days, strict=True))
    ordered = ordered_commits(when, tmp_path)
    assert [c.hash for c in ordered] == ["local", *made]
    assert not ordered[0].subject  # only full hashes are looked up, and "local" is a branch
    assert ordered[2].subject == ODD and ordered[2].author_date.startswith("2026-01-05")
    (short,) = ordered_commits({made[0][:10]: days[0]}, tmp_path)
    assert not short.subject
    bare = ordered_commits(when, tmp_path.parent / "none")
    assert [c.hash for c in bare] == [made[1], "local", made[0]] and not bare[0].subject
