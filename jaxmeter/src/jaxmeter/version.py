"""The version of jaxmeter, which is stored in every record."""

VERSION = "0.1.0"
