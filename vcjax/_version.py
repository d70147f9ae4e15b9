"""The version of vcjax, written into every pickle."""

VERSION = "0.1.0"
