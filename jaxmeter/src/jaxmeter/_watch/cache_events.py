"""Find out from JAX's events and log messages how the persistent cache handled each compile.

https://docs.jax.dev/en/latest/persistent_compilation_cache.html describes the messages. The
messages have the level DEBUG, so this module sets the level of their loggers to DEBUG. A logger
that already has a level keeps its own level. A filter then drops the messages that the program's
own settings would not print.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Callable
from typing import Any

import jax

_LOGGERS = ("jax._src.compiler", "jax._src.compilation_cache")
_KEY_LOGGER = "jax._src.cache_key"
_KEY = re.compile(r"with key '?([^' ]+)'?")
_PART = re.compile(r"get_cache_key hash of serialized (.*): ([0-9a-f]+)$")
_REASON = re.compile(r"Not writing persistent cache entry .*?(?:because|since) (.*)", re.DOTALL)
_TOO_LATE = "the cache was off at the first compile, and JAX checks this only once"
_HIT = "/jax/compilation_cache/cache_hits"
_REQUEST = "/jax/compilation_cache/compile_requests_use_cache"


class CacheEvents:
    """The events and messages of the cache since the last compile, for each thread."""

    def __init__(self) -> None:
        self._local = threading.local()
        jax.monitoring.register_event_listener(self._on_event)
        # To log the parts of a cache key, JAX hashes the parts again, which takes time. So the
        # parts are logged only on request.
        names = (*_LOGGERS, _KEY_LOGGER) if os.environ.get("JAXMETER_WATCH_KEYS") else _LOGGERS
        for name in names:
            logger = logging.getLogger(name)
            logger.addFilter(_reader(logger, self._on_message))
            if logger.level == logging.NOTSET:
                logger.setLevel(logging.DEBUG)

    def taken(self) -> dict[str, Any]:
        """Return how the cache handled the compile that just ended; delete the compile's events."""
        found = dict(vars(self._local))  # the events of this thread
        vars(self._local).clear()
        if _HIT in found:
            outcome, reason = "hit", ""
        elif why_off := _why_off():
            outcome, reason = "off", why_off
        elif _REQUEST not in found:
            outcome, reason = "off", _TOO_LATE
        elif "written" in found:
            outcome, reason = "written", ""
        else:
            outcome, reason = "not written", found.get("reason", "JAX does not report the reason")
        kept = {name: found[name] for name in ("key", "parts") if name in found}
        return {"outcome": outcome, "reason": reason, **kept}

    def _on_event(self, event: str, **_: Any) -> None:
        vars(self._local)[event] = True

    def _on_message(self, text: str) -> None:
        if part := _PART.match(text):
            vars(self._local).setdefault("parts", {})[part[1]] = part[2]
        if key := _KEY.search(text):
            self._local.key = key[1]
        if reason := _REASON.match(text):
            self._local.reason = reason[1]
        if text.startswith("Writing "):
            self._local.written = True


def _reader(logger: logging.Logger, read: Callable[[str], None]) -> Callable[..., bool]:
    """Return a filter that reads each message. If the logger has no handlers of its own, the filter
    drops messages below the program's own log level."""
    own_level = logger.level

    def passes(record: logging.LogRecord) -> bool:
        with contextlib.suppress(Exception):  # a message of unknown form must not stop the program
            read(record.getMessage())
        inherited = logging.WARNING if logger.parent is None else logger.parent.getEffectiveLevel()
        return bool(logger.handlers) or record.levelno >= (own_level or inherited)

    return passes


def _why_off() -> str:
    if not getattr(jax.config, "jax_enable_compilation_cache", True):
        return "jax_enable_compilation_cache is off"
    if not getattr(jax.config, "jax_compilation_cache_dir", None):
        return "jax_compilation_cache_dir is not set"
    return ""
