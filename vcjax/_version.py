"""Define the version of vcjax, which pickles of rules and casings contain."""

VERSION = "0.1.0"
