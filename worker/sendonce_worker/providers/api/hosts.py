"""Where messages may go whose recipients bring their own URLs: a list decides, and never in the clear.

In: patterns such as ``hooks.example.com``, ``*.example.com`` or ``*``. Out: a recipient's URL that one of them allows.
A bare address must be spelt out in the list, and so must this machine, where http is allowed too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sendonce_worker.providers.errors import PermanentSendError
from sendonce_worker.providers.http1.target import Target, parse_target

_LOCAL = (".local", ".internal", ".localhost", ".localdomain", ".svc")
_NUMBER = re.compile(r"(^|\.)(\d+|0x[0-9a-f]*)$")
"""How a name ends that resolvers take for an address, such as 127.1."""


class AllowedHosts:
    """The hosts of one provider."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """``patterns`` as in ``allowedHosts``."""
        self._exact = frozenset(one.lower() for one in patterns if not one.startswith("*"))
        self._below = tuple(one[1:].lower() for one in patterns if one.startswith("*."))
        self._any = "*" in patterns

    def check(self, url: str) -> str:
        """Return the URL. Raises ``PermanentSendError`` for one that this provider does not send to."""
        target = _target(url)
        host = target.host.rstrip(".").lower()
        if host not in self._exact:
            if not self._any and not host.endswith(self._below):
                raise PermanentSendError("host_not_allowed", f"the recipient's host {host} is not in allowedHosts")
            if _is_local(host):
                raise PermanentSendError("host_not_allowed", f"{host} must stand in allowedHosts by itself")
        if not target.tls and not (host in self._exact and _is_local(host)):
            raise PermanentSendError("bad_address", "the recipient's URL must begin with https://")
        return url


def _target(url: str) -> Target:
    try:
        return parse_target(url)
    except ValueError as error:
        raise PermanentSendError(
            "bad_address", f"the recipient's address is no URL that can be used: {error}"
        ) from error


def _is_local(host: str) -> bool:
    """Whether it is a bare address or a name without a domain: inside our own network more likely than not."""
    return ":" in host or "." not in host or _NUMBER.search(host) is not None or host.endswith(_LOCAL)
