"""What a sender handed over, and what will come of it.

In: hand-offs as the fronts have read them. Out: plans, which ``far_end`` makes and carries out. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sendonce_cli.simulate.fate import Fate
from sendonce_cli.simulate.outcomes import Cause, Outcome

REFUSALS = {
    Fate.PERMANENT: Outcome.REFUSED,
    Fate.TRANSIENT: Outcome.TRANSIENT,
    Fate.THROTTLE: Outcome.THROTTLED,
    Fate.ACCOUNT: Outcome.ACCOUNT,
}
"""Fates that are a refusal with an answer, and how the ledger calls them."""


@dataclass(frozen=True, slots=True)
class HandOff:
    """One message as a sender handed it over."""

    protocol: str
    path: str
    to: str
    key: str | None = None
    payload_sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What will happen to a hand-off, before its key is looked at."""

    identity: str
    arrived: float
    attempt: int
    fate: Fate
    cause: Cause
    before: float
    """Seconds to wait before the decision."""
    after: float
    """Seconds to hold back the answer once the decision is recorded."""
    retry_after: float

    @property
    def refuses(self) -> bool:
        """Whether it will be refused with an answer, whatever its key."""
        return self.fate in REFUSALS


def together(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans of messages that came in one request.

    It takes the time of the slowest. What has an answer for the whole request only (a throttling, the account, a
    refusal for now) holds for every message of it; a recipient that is refused for good is refused alone.
    """
    whole = next((plan for plan in plans if plan.refuses and plan.fate is not Fate.PERMANENT), None)
    before = max((plan.before for plan in plans), default=0.0)
    if whole is None:
        return [replace(plan, before=before) for plan in plans]
    return [
        replace(plan, fate=whole.fate, cause=whole.cause, before=before, after=0.0, retry_after=whole.retry_after)
        for plan in plans
    ]
