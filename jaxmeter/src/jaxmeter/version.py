"""The version of jaxmeter. Each record stores this version in its environment."""

VERSION = "0.1.0"
