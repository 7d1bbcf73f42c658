"""One hand-off to one provider: rows that have been committed as `sending` in, their results out. Tried exactly once.

Whatever the provider raises becomes a result; what it should not have raised is a bug, logged with its traceback, and
counts as an attempt with an unknown outcome.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from sendonce_store.rows import Result, Started
from sendonce_worker.providers.base import Accepted, BatchProvider, Clearance, Message
from sendonce_worker.providers.errors import HandOffRefusedError, Kind, SendError, UnknownOutcomeError
from sendonce_worker.sending import outcomes
from sendonce_worker.sending.outcomes import Attempt
from sendonce_worker.sending.plan import ChannelPlan, utc_now
from sendonce_worker.sending.prepare import Prepared

logger = logging.getLogger(__name__)


class Alarms(Protocol):
    """Who is told when an answer concerns more than one recipient."""

    async def stands_still(self, plan: ChannelPlan, error: SendError) -> None:
        """The provider asked us to slow down, or can't be reached: pause it for every worker."""

    async def account_problem(self, plan: ChannelPlan, error: SendError) -> None:
        """Credentials, sender or credit: stop the campaign."""


@dataclass(slots=True)
class Way:
    """The way that a batch's messages take. `alarmed`: the provider or the account stands still, and it was told."""

    plan: ChannelPlan
    batch_id: int
    clearance: Clearance
    alarms: Alarms
    rng: random.Random
    alarmed: bool = False


# not frozen: one for each delivery, and a frozen one takes twice as long to make
@dataclass(slots=True)
class Landed:
    """A hand-off that is over. `stands_still`: no further group should follow."""

    result: Result
    stands_still: bool = False


Committed = tuple[Prepared, Started]
"""A row whose commit as `sending` has been seen."""


async def hand_off(rows: Sequence[Committed], way: Way) -> list[Landed]:
    """Hand messages off, once, in one request if they are several."""
    if len(rows) == 1:
        return [await _one(*rows[0], way)]
    return await _many(rows, way)


async def _one(prepared: Prepared, started: Started, way: Way) -> Landed:
    attempt = _attempt(prepared, started)
    try:
        answer = await way.plan.provider.send(_message(prepared, started, way), way.clearance)
    except Exception as error:  # noqa: BLE001 - it is told apart there, and a bug is logged with its traceback
        return await _not_accepted(attempt, error, way)
    return Landed(outcomes.accepted(attempt, answer))


async def _many(rows: Sequence[Committed], way: Way) -> list[Landed]:
    answers: Sequence[Accepted | Exception]
    try:
        answers = await _sent_together([_message(prepared, started, way) for prepared, started in rows], way)
    except Exception as error:  # noqa: BLE001 - as above
        answers = [error] * len(rows)
    landed = []
    for (prepared, started), answer in zip(rows, answers, strict=True):
        attempt = _attempt(prepared, started)
        if isinstance(answer, Accepted):
            landed.append(Landed(outcomes.accepted(attempt, answer)))
        else:
            landed.append(await _not_accepted(attempt, answer, way))
    return landed


async def _sent_together(messages: Sequence[Message], way: Way) -> Sequence[Accepted | Exception]:
    provider = way.plan.provider
    if not isinstance(provider, BatchProvider):
        raise TypeError("the provider takes one message at a time")
    answers = await provider.send_many(messages, way.clearance)
    if len(answers) != len(messages):
        raise ValueError(f"{len(answers)} answers to {len(messages)} messages")
    return answers


async def _not_accepted(attempt: Attempt, error: Exception, way: Way) -> Landed:
    if isinstance(error, HandOffRefusedError):
        return Landed(outcomes.refused_here(attempt), stands_still=True)
    if isinstance(error, SendError):
        return await _refused(attempt, error, way)
    logger.error("provider %s failed in a way it should not", way.plan.provider_series.provider, exc_info=error)
    return await _refused(attempt, UnknownOutcomeError("bug", f"{type(error).__name__}: {error}"), way)


def not_handed_off(prepared: Prepared, started: Started) -> Result:
    """A row that was committed as `sending` and is given back instead."""
    return outcomes.refused_here(_attempt(prepared, started))


def _attempt(prepared: Prepared, started: Started) -> Attempt:
    return Attempt(prepared.row.no, started.attempt_seq, prepared.row.tries, started.maybe_accepted)


def _message(prepared: Prepared, started: Started, way: Way) -> Message:
    row = prepared.row
    return Message(
        key=row.key,
        channel=way.plan.channel,
        to=row.address,
        content=prepared.content,
        date=started.first_attempt_at or utc_now(),
        # with the beginning of the key: on an account that several stores share, a receipt finds its own
        delivery_id=f"{way.batch_id}-{row.no}-{row.key[:8]}",
        variables=prepared.variables,
        maybe_accepted=started.maybe_accepted,
    )


async def _refused(attempt: Attempt, error: SendError, way: Way) -> Landed:
    concerns_all = error.is_outage or error.kind in {Kind.RATE_LIMITED, Kind.ACCOUNT}
    if concerns_all and not way.alarmed:
        way.alarmed = True  # the others in flight will be told the same
        tell = way.alarms.account_problem if error.kind is Kind.ACCOUNT else way.alarms.stands_still
        await tell(way.plan, error)
    return Landed(outcomes.ended(attempt, error, way.plan.rules, way.rng), stands_still=concerns_all)
