"""One hand-off to one provider: a row that has been committed as `sending` in, its result out. Tried exactly once.

Whatever the provider raises becomes a result; what it should not have raised is a bug, logged with its traceback, and
counts as an attempt with an unknown outcome.
"""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass
from typing import Protocol

from sendonce_store.rows import Result, Started
from sendonce_worker.providers.base import Clearance, Message
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


async def hand_off(prepared: Prepared, started: Started, way: Way) -> Landed:
    """Hand one message off, once."""
    row = prepared.row
    attempt = Attempt(row.no, started.attempt_seq, row.tries, started.maybe_accepted)
    try:
        answer = await way.plan.provider.send(_message(prepared, started, way), way.clearance)
    except HandOffRefusedError:
        return Landed(outcomes.refused_here(attempt), stands_still=True)
    except SendError as error:
        return await _refused(attempt, error, way)
    except Exception as error:
        logger.exception("provider %s failed in a way it should not", way.plan.provider_series.provider)
        return await _refused(attempt, UnknownOutcomeError("bug", f"{type(error).__name__}: {error}"), way)
    return Landed(outcomes.accepted(attempt, answer))


def not_handed_off(prepared: Prepared, started: Started) -> Result:
    """A row that was committed as `sending` and is given back instead."""
    row = prepared.row
    return outcomes.refused_here(Attempt(row.no, started.attempt_seq, row.tries, started.maybe_accepted))


def _message(prepared: Prepared, started: Started, way: Way) -> Message:
    row = prepared.row
    return Message(
        key=row.key,
        channel=way.plan.channel,
        to=row.address,
        content=prepared.content,
        date=started.first_attempt_at or utc_now(),
        delivery_id=f"{way.batch_id}-{row.no}",
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
