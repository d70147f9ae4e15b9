"""The workflows of CI: actions are pinned, and no script contains text from outside.

Only two workflows may write: one writes a comment, the other publishes the site.
"""

import re
from pathlib import Path

import pytest
import yaml

WORKFLOWS = sorted((Path(__file__).resolve().parents[2] / ".github" / "workflows").glob("*.yml"))
LOADED = {path.stem: yaml.safe_load(path.read_text()) for path in WORKFLOWS}


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def triggers(workflow):
    return workflow[True]  # YAML 1.1 reads the word "on" as true


def test_the_workflows_are_found():
    assert {"comment", "pages", "review", "tests"} <= set(LOADED)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_name_their_version(path):
    uses = re.findall(r"^.*\buses:.*$", path.read_text(), re.MULTILINE)
    pinned = re.compile(r" +- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert uses and not [line for line in uses if not pinned.fullmatch(line)]


@pytest.mark.parametrize("name", LOADED)
def test_scripts_take_text_from_the_environment_only(name):
    assert not [step["run"] for step in steps(LOADED[name]) if "${{" in step.get("run", "")]


MAY_WRITE = {"comment": {"pull-requests"}, "pages": {"pages", "id-token"}}


@pytest.mark.parametrize("name", LOADED)
def test_only_the_workflows_comment_and_pages_may_write(name):
    workflow = LOADED[name]
    granted = [workflow["permissions"]]
    granted += [job.get("permissions", {}) for job in workflow["jobs"].values()]
    assert all(isinstance(permissions, dict) for permissions in granted)
    rights = [right for permissions in granted for right in permissions.items()]
    assert {scope for scope, right in rights if right == "write"} == MAY_WRITE.get(name, set())
    assert "pull_request_target" not in triggers(workflow)


def test_the_comment_checks_out_the_default_branch():
    assert set(triggers(LOADED["comment"])) == {"workflow_run"}
    checkout, run = steps(LOADED["comment"])
    assert checkout["with"]["ref"] == "${{ github.event.repository.default_branch }}"
    assert run["run"].startswith("python3 -m tools.comment ")


def test_the_job_that_publishes_the_site_runs_no_code_and_only_after_a_push():
    jobs = LOADED["pages"]["jobs"]
    assert not any(job.get("permissions") for name, job in jobs.items() if name != "publish")
    assert jobs["publish"]["if"] == "github.event_name == 'push'"
    assert triggers(LOADED["pages"])["push"] == {"branches": ["main"]}
    (step,) = jobs["publish"]["steps"]
    assert step["uses"].startswith("actions/deploy-pages@") and "run" not in step


@pytest.mark.parametrize("name", LOADED)
def test_checkouts_keep_no_credentials(name):
    used = [step for step in steps(LOADED[name]) if "uses" in step]
    checkouts = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert checkouts and not any(step["with"]["persist-credentials"] for step in checkouts)
