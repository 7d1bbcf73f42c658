"""What a provider's module is made of, and what goes through it. No I/O: a request and secrets in, receipts out.

Two steps, always in this order: `verify` looks at who sent the request, `parse` at what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sendonce_store.receipts import Receipt

__all__ = ["DAY", "FUTURE", "ForgeryError", "MalformedError", "Post", "SecretError", "Secrets", "Source", "check_age"]

Secrets = Mapping[str, Sequence[str]]
"""Name of a secret → its values that are good now, one or, while it is being changed, two."""

# what a provider sends again it may send as it was signed the first time: most try for a day
DAY = timedelta(hours=25)
# how far ahead of ours its clock may be
FUTURE = timedelta(minutes=5)


class ForgeryError(Exception):
    """The request does not come from the provider, or not in time. `why` is one of a few words, for counting."""

    def __init__(self, why: str, message: str) -> None:
        super().__init__(message)
        self.why = why


class MalformedError(Exception):
    """It comes from the provider, and is not what it sends; the message names the part."""


class SecretError(Exception):
    """What we were given to check signatures with can't be used; the message names the file's last part."""


@dataclass(frozen=True, slots=True)
class Post:
    """A request. `url` is the one that the provider was given, with its query; names of headers are in lower case.

    `certificate`: what the address given by `Source.certificate_url` answered, PEM.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    url: str = ""
    query: Mapping[str, str] = field(default_factory=dict)
    certificate: bytes | None = None

    def header(self, name: str) -> str:
        """The header's value. Raises ForgeryError where there is none: without it nobody can tell who sent this."""
        found = self.headers.get(name, "")
        if not found:
            raise ForgeryError("no_signature", f"there is no header {name}")
        return found


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of provider. `secrets`: the names of those that it is checked with, of which one must be there."""

    title: str
    secrets: tuple[str, ...]
    verify: Callable[[Post, Secrets, datetime], None]
    parse: Callable[[Post], list[Receipt]]
    # where the certificate of its signature lies; checked, so that it can be asked without a thought
    certificate_url: Callable[[Post, Secrets], str] | None = None
    # an address that the provider wants to see visited before it sends anything else
    confirmation: Callable[[Post], str | None] | None = None


def check_age(at: datetime, now: datetime, past: timedelta) -> None:
    """Raise ForgeryError unless what was signed at `at` may still come in now."""
    if now - at > past:
        raise ForgeryError("too_old", f"it was signed {_seconds(now - at)} s ago, at most {_seconds(past)} are taken")
    if at - now > FUTURE:
        ahead = _seconds(at - now)
        raise ForgeryError(
            "too_new", f"it was signed {ahead} s ahead of our clock, at most {_seconds(FUTURE)} are taken"
        )


def _seconds(span: timedelta) -> int:
    return int(span.total_seconds())
