"""A record names the machine of its measurement."""

import platform

import pytest

from jaxmeter import host_environment


@pytest.mark.parametrize(
    ("variable", "name"),
    [(" ci-runner ", "ci-runner"), *((empty, platform.node()) for empty in (None, "", "  "))],
)
def test_the_host_has_the_name_in_the_variable_or_of_the_system(variable, name, monkeypatch):
    monkeypatch.delenv("JAXMETER_HOST", raising=False)
    if variable is not None:
        monkeypatch.setenv("JAXMETER_HOST", variable)
    assert host_environment().machine == name
