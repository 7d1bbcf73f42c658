"""The seam between the worker and the far ends.

In: one :class:`Message` with its rendered content, and a clearance. Out: :class:`Accepted`, or an
error of :mod:`sendonce_worker.providers.errors`. In between a provider does, in this order::

    build the bytes → connection (pooled, or connect + TLS + login) → clearance() → first byte → answer

so that nothing is on the wire when the clearance refuses, and so that whatever fails before the
clearance is known not to have been accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from sendonce_rendering.content import Content

Clearance = Callable[[], None]
"""Called right before the first byte of a message leaves; raises ``HandOffRefusedError`` to stop it."""


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Message:
    """One hand-off to one recipient."""

    key: str
    """The delivery's idempotency key, a UUID as text; the same on every attempt."""
    channel: str
    """``Email``, ``SMS``, ``Line``, …"""
    to: str
    """The normalised address."""
    content: Content
    date: datetime
    """Aware; the time of the first attempt, so that a retry sends the same bytes."""
    delivery_id: str
    """``<batch id>-<number>``, for the provider's own records."""
    variables: Mapping[str, object]
    """The recipient's template variables."""
    maybe_accepted: bool = False
    """An earlier attempt ended with an unknown outcome."""


@dataclass(slots=True)
class Accepted:
    """The far end took responsibility for the message."""

    message_id: str | None
    """The far end's id, if it gave one."""
    detail: str
    """The far end's words, such as ``250 2.0.0 Ok: queued as 4F2``."""


class Provider(Protocol):
    """One configured far end. Safe to use from many tasks of one event loop."""

    @property
    def key_window(self) -> float | None:
        """Seconds for which the far end remembers idempotency keys; None if it has none."""
        ...

    async def send(self, message: Message, clearance: Clearance) -> Accepted:
        """Try once, within the provider's total deadline.

        Raises ``SendError`` for everything the far end, the network or the content can do, and lets a
        ``HandOffRefusedError`` from ``clearance`` through untouched.
        """
        ...

    async def aclose(self) -> None:
        """Close idle connections politely and drop the rest."""
        ...


@runtime_checkable
class BatchProvider(Provider, Protocol):
    """A provider whose far end takes several messages in one request, and says of each what became of it."""

    @property
    def batch_size(self) -> int:
        """How many messages may travel together; above 1."""
        ...

    async def send_many(self, messages: Sequence[Message], clearance: Clearance) -> Sequence[Accepted | Exception]:
        """Try each of the messages once, in as few requests as its bounds allow, within the provider's total deadline.

        The clearance is asked before each request. Returned are, in the order of the messages, what ``Provider.send``
        would return or raise for each. What is lost on the way is lost for all messages of its request: unknown.
        """
        ...
