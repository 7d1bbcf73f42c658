"""Several messages in one request, for far ends that answer for each of them.

In: messages. Out: what became of each, in their order. What is wrong with one message concerns that one: it does not
go along, or is refused alone. What is refused as a whole without anybody's fault being told is handed off one by one,
since nobody was sent to. What is lost is unknown for all.
"""

from __future__ import annotations

import asyncio
import json
import logging
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import ClassVar

from sendonce_worker.providers.api.base import Api, Call
from sendonce_worker.providers.api.lines import Wire
from sendonce_worker.providers.api.provider import ApiProvider
from sendonce_worker.providers.api.reading import json_list
from sendonce_worker.providers.api.table import NOT_ITS_OWN, classify
from sendonce_worker.providers.base import Accepted, Clearance, Message
from sendonce_worker.providers.errors import (
    HandOffRefusedError,
    Kind,
    PermanentSendError,
    SendError,
    TemporarySendError,
    send_error,
)
from sendonce_worker.providers.http1.connection import Answer
from sendonce_worker.providers.http1.trying import blotted, try_once

_LOG = logging.getLogger(__name__)
_OK, _SUCCESSES = 200, range(200, 300)
Outcome = Accepted | Exception
_NOT_SENT = HandOffRefusedError("it has not been handed off")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one request takes: a POST of a JSON list to ``path``, of so many ``messages`` and ``size`` bytes."""

    path: str
    messages: int
    size: int


class BatchApi(Api):
    """A far end that takes a JSON list of messages, and answers 200 with a list of its usual answers, in their order.

    It has no keys: one that covers a whole list would have to come with the very same list again.
    """

    bounds: ClassVar[Bounds]

    @abstractmethod
    def part(self, message: Message, /) -> bytes:
        """Return the message as JSON. Raises ``SendError`` for one that the far end would never take."""


@dataclass(frozen=True, slots=True)
class Part:
    """A message that is ready to go, and its place among the others."""

    place: int
    message: Message
    body: bytes


class BatchApiProvider(ApiProvider):
    """See ``BatchProvider``."""

    def __init__(self, api: BatchApi, secrets: Mapping[str, str], wire: Wire) -> None:
        """Raises ``ProviderConfigError``."""
        super().__init__(api, secrets, wire)
        self._parts = api

    @property
    def batch_size(self) -> int:
        """How many messages may travel together."""
        return self._parts.bounds.messages

    async def send_many(self, messages: Sequence[Message], clearance: Clearance) -> Sequence[Outcome]:
        """Try each once; see ``BatchProvider.send_many``."""
        made = [self._part(place, message) for place, message in enumerate(messages)]
        outcomes: list[Outcome] = [one if isinstance(one, SendError) else _NOT_SENT for one in made]
        bundles = list(bundled((one for one in made if isinstance(one, Part)), self._parts.bounds))
        answered = await asyncio.gather(*(self._request(bundle, clearance) for bundle in bundles))
        for bundle, answers in zip(bundles, answered, strict=True):
            for part, answer in zip(bundle, answers, strict=True):
                outcomes[part.place] = answer
        return outcomes

    def _part(self, place: int, message: Message) -> Part | SendError:
        try:
            return Part(place, message, self._parts.part(message))
        except SendError as error:
            return error
        except Exception as error:  # noqa: BLE001 - it must not take the other messages with it
            _LOG.exception("a bug in an HTTP provider")
            return TemporarySendError("internal_error", f"{type(error).__name__} inside the provider")

    async def _request(self, bundle: Sequence[Part], clearance: Clearance) -> Sequence[Outcome]:
        async def attempt(departure: Clearance) -> list[Outcome] | SendError:
            body = b"[%b]" % b",".join([part.body for part in bundle])
            return self._judged_each(await self._exchange(Call(self._parts.bounds.path, body), departure), len(bundle))

        if len(bundle) == 1:
            return await self._one_by_one(bundle, clearance)
        try:
            return await try_once(attempt, clearance, self._blotter.blot)
        except PermanentSendError:
            return await self._one_by_one(bundle, clearance)
        except (SendError, HandOffRefusedError) as error:
            return [error] * len(bundle)

    async def _one_by_one(self, bundle: Sequence[Part], clearance: Clearance) -> Sequence[Outcome]:
        async def alone(message: Message) -> Outcome:
            try:
                return await self.send(message, clearance)
            except (SendError, HandOffRefusedError) as error:
                return error

        return await asyncio.gather(*(alone(part.message) for part in bundle))

    def _judged_each(self, answer: Answer, count: int) -> list[Outcome] | SendError:
        now = datetime.now(UTC)
        parts = parts_of(answer)
        if answer.status == _OK and len(parts) == count:
            verdicts = [classify(self._api.table, part, self._api.read(part, now)) for part in parts]
            return [blotted(one, self._blotter.blot) if isinstance(one, SendError) else one for one in verdicts]
        if answer.status in _SUCCESSES and answer.complete:
            # its words are not kept: they may be about others
            return send_error(Kind.UNKNOWN, str(answer.status), f"{answer.status}: {NOT_ITS_OWN}")
        verdict = classify(self._api.table, answer, self._api.read(answer, now))
        return verdict if isinstance(verdict, SendError) else send_error(Kind.UNKNOWN, str(answer.status), NOT_ITS_OWN)


def bundled(parts: Iterable[Part], bounds: Bounds) -> Iterator[list[Part]]:
    """Put parts together into requests, in their order."""
    bundle: list[Part] = []
    size = 0
    for part in parts:
        # a comma before each, or the brackets around all
        size += len(part.body) + 1
        if bundle and (len(bundle) == bounds.messages or size + 1 > bounds.size):
            yield bundle
            bundle, size = [], len(part.body) + 1
        bundle.append(part)
    if bundle:
        yield bundle


def parts_of(answer: Answer) -> list[Answer]:
    """Take an answer apart into what it says of each message; nothing if it is no whole list."""
    return [replace(answer, body=json.dumps(one).encode()) for one in json_list(answer)] if answer.complete else []
