"""Where a measurement was made, as the process that makes it tells."""

import platform

import pytest

from jaxmeter import host_environment


def test_the_host_is_called_what_the_variable_says(monkeypatch):
    monkeypatch.setenv("JAXMETER_HOST", " ci-runner ")
    assert host_environment().machine == "ci-runner"


@pytest.mark.parametrize("named", [None, "", "  "])
def test_without_a_name_the_host_is_called_what_the_system_says(monkeypatch, named):
    monkeypatch.delenv("JAXMETER_HOST", raising=False)
    if named is not None:
        monkeypatch.setenv("JAXMETER_HOST", named)
    assert host_environment().machine == platform.node()
