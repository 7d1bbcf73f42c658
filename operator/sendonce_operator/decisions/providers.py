"""The status of a provider, of one namespace or of the whole cluster: facts in, the object on the wire out.

Ready says whether it does what its spec says, also while that says `suspend`; Throttled whether it stands still for a
while, which passes by itself and never makes Ready false. Stalled is there only while a person is needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sendonce_operator.decisions.conditions import FALSE, TRUE, UNKNOWN, Claim, conditions, find, is_true, reason_of
from sendonce_operator.decisions.events import TELLING_PAUSE, Event, event
from sendonce_operator.decisions.facts import Refusal, Subject
from sendonce_operator.decisions.moments import moment, whole_seconds
from sendonce_store.masking import clipped, mask, mask_foreign
from sendonce_store.pace import OUTAGE_CODES
from sendonce_store.spec import ProviderError, ProviderSpec, ProviderStatus

LONGEST = 512
LONGEST_CODE = 64


@dataclass(frozen=True, slots=True)
class ProviderSituation:
    """All that a provider's status is made from.

    `refusal`: InvalidSpec, StoreUnavailable (the pause of the last status then stands). `paused_until`, `pause_code`,
    `pause_message`: the store's. `rejected`: the message of a campaign that is stopped with CredentialsRejected over
    this provider. `secret_missing`: what a worker says whose problem begins with SecretNotFound.
    """

    subject: Subject[ProviderStatus]
    now: datetime
    spec: ProviderSpec | None = None
    refusal: Refusal | None = None
    paused_until: datetime | None = None
    pause_code: str | None = None
    pause_message: str | None = None
    rejected: str | None = None
    secret_missing: str | None = None

    @property
    def old(self) -> ProviderStatus:
        """The status as last seen; an empty one where there was none."""
        return self.subject.status or ProviderStatus()

    @property
    def paused(self) -> datetime | None:
        """The end of a pause that is not over."""
        until = whole_seconds(self.paused_until)
        return until if until is not None and until > self.now else None


def provider_status(situation: ProviderSituation) -> dict[str, Any]:
    """The status on the wire; absent fields are left out."""
    old, generation = situation.old, situation.subject.generation
    unread = situation.refusal is not None and not situation.refusal.stalled
    return ProviderStatus(
        observed_generation=generation,
        paused_until=old.paused_until if unread else situation.paused,
        last_error=_last_error(situation),
        conditions=conditions(_claims(situation), old.conditions, generation, situation.now, LONGEST),
    ).to_wire()


def _claims(situation: ProviderSituation) -> Iterator[Claim]:
    ready = _ready(situation)
    yield ready
    if ready.status is UNKNOWN:
        yield Claim("Reconciling", TRUE, ready.reason, ready.message)
    elif ready.status is FALSE:
        yield Claim("Stalled", TRUE, ready.reason, ready.message)
    yield _throttled(situation)


def _ready(situation: ProviderSituation) -> Claim:
    refusal = situation.refusal
    if refusal is not None:
        return Claim("Ready", FALSE if refusal.stalled else UNKNOWN, refusal.reason, mask(refusal.message))
    if situation.spec is not None and situation.spec.suspend:
        return Claim("Ready", TRUE, "Suspended", "spec.suspend is true: every campaign that uses it stands still")
    if situation.secret_missing is not None:
        return Claim("Ready", FALSE, "SecretNotFound", mask(situation.secret_missing.removeprefix("SecretNotFound: ")))
    if situation.rejected is not None:
        return Claim("Ready", FALSE, "CredentialsRejected", mask_foreign(situation.rejected))
    return Claim("Ready", TRUE, "Configured", "the store has these settings, and workers use them")


def _throttled(situation: ProviderSituation) -> Claim:
    until = situation.paused
    old = find(situation.old.conditions, "Throttled")
    if situation.refusal is not None and not situation.refusal.stalled and old is not None:
        return Claim("Throttled", old.status, old.reason, old.message)
    if until is None:
        return Claim("Throttled", FALSE, "NotThrottled", "")
    reason = "Outage" if situation.pause_code in OUTAGE_CODES else "RateLimited"
    words = f": {mask_foreign(situation.pause_message)}" if situation.pause_message else ""
    return Claim("Throttled", TRUE, reason, f"no hand-off before {moment(until)}{words}")


def _last_error(situation: ProviderSituation) -> ProviderError | None:
    """The pause's answer, dated when it is first seen; kept after the pause until there is another."""
    old = situation.old.last_error
    if situation.paused is None or situation.pause_code is None:
        return old
    code = clipped(mask_foreign(situation.pause_code), LONGEST_CODE)
    message = clipped(mask_foreign(situation.pause_message or ""), LONGEST)
    if old is not None and (old.code, old.message) == (code, message) and situation.old.paused_until is not None:
        return old
    return ProviderError(code=code, message=message, time=situation.now)


def provider_events(old: ProviderStatus | None, new: ProviderStatus) -> list[Event]:
    """Events between two statuses of a provider."""
    return [*_ready_events(old or ProviderStatus(), new), *_pause_events(old or ProviderStatus(), new)]


def _ready_events(old: ProviderStatus, new: ProviderStatus) -> Iterator[Event]:
    ready, before = find(new.conditions, "Ready"), reason_of(old.conditions, "Ready")
    if ready is None or ready.reason == before or ready.status is UNKNOWN:
        return
    if ready.reason == "Suspended":
        yield event("Normal", "Suspended", ready.message)
    elif ready.status is TRUE and before is None:
        yield event("Normal", "Accepted", ready.message)
    elif ready.status is TRUE and before == "Suspended":
        yield event("Normal", "Resumed", "every campaign that uses it goes on")
    elif ready.status is FALSE:
        yield event("Warning", "Stalled", f"{ready.reason}: {ready.message}")


def _pause_events(old: ProviderStatus, new: ProviderStatus) -> Iterator[Event]:
    throttled = find(new.conditions, "Throttled")
    begins = throttled is not None and throttled.status is TRUE and not is_true(old.conditions, "Throttled")
    if throttled is None or not begins or new.paused_until is None:
        return
    if new.paused_until - throttled.last_transition_time >= TELLING_PAUSE:
        yield event("Warning", "ProviderPaused", f"{throttled.reason}: {throttled.message}")
