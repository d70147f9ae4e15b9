"""Define the version of vcjax, which every pickle contains."""

VERSION = "0.1.0"
