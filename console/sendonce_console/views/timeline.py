"""What happened to a campaign, one thing after the other: what the store remembers in, a list in time out. Pure.

Who died, what stood still and what people ordered is told by the rows it left behind. The far end's words are masked
for viewers who may not see people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sendonce_console.look import amount, words
from sendonce_console.views.deadletters import OrderView
from sendonce_store.console_campaigns import Record
from sendonce_store.console_story import Disturbance, Story
from sendonce_store.ledger import WorkerLine
from sendonce_store.masking import mask_foreign
from sendonce_store.standing import ALIVE_SECONDS, Overview

_MOST = 200
_TONES = {"rate_limited": "care", "account": "bad", "recovered": "care", "temporary": "care"}


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened. `tone`: good, busy, wait, care or bad; `said`: the far end's own words."""

    at: datetime
    title: str
    tone: str = "wait"
    detail: str = ""
    said: str = ""


def timeline(
    c: Overview, record: Record, story: Story, orders: Sequence[OrderView], *, people: bool
) -> Sequence[Moment]:
    """The newest first, two hundred at most; `people`: whether the viewer may see addresses."""
    found = [*_beginning(c, record, story), *_end(c, people=people)]
    found += [moment for worker in story.workers for moment in _worker(worker, c, people=people)]
    found += [_disturbed(one, people=people) for one in _merged(story.disturbances)]
    found += [_ordered(one) for one in orders]
    return sorted(found, key=lambda one: one.at, reverse=True)[:_MOST]


def _beginning(c: Overview, record: Record, story: Story) -> Iterator[Moment]:
    by = f"by {record.applied_by}" if record.applied_by else ""
    yield Moment(c.created_at, "Applied", "good", by)
    if record.owned_at is not None:
        yield Moment(record.owned_at, "Applied again", "wait", "The same send key: it went on where it was.")
    imported = story.imported
    if imported is not None and imported.leased_at is not None:
        yield Moment(c.started_at or imported.leased_at, "Import began", "busy")
        if imported.state == "done" and imported.heartbeat_at is not None and c.imported:
            yield Moment(imported.heartbeat_at, "Imported", "good", _people(c))
    if c.rollout_stage != "none" and c.rollout_since is not None:
        yield Moment(c.rollout_since, f"Canary: {words(c.rollout_stage).lower()}", "busy", _canary(c))


def _people(c: Overview) -> str:
    said = f"{amount(c.total)} people; {amount(c.duplicates)} duplicates and {amount(c.rejected)} refused rows left out"
    return said if not c.unreachable else f"{said}; {amount(c.unreachable)} without an address for it"


def _canary(c: Overview) -> str:
    return f"{amount(c.canary_sent)} of {amount(c.canary_total)} sent, {amount(c.canary_failed)} failed"


def _end(c: Overview, *, people: bool) -> Iterator[Moment]:
    if c.completed_at is not None and c.ended is not None:
        tone = {"complete": "good" if c.ended_reason == "AllSent" else "care"}.get(c.ended, "bad")
        title = "Cancelled" if c.ended_reason == "Cancelled" else "Finished" if c.ended == "complete" else "Failed"
        said = c.ended_message or ""
        yield Moment(c.completed_at, title, tone, said if people else mask_foreign(said))
    if c.data_deleted_at is not None:
        yield Moment(c.data_deleted_at, "Recipients' data deleted", "wait", "Only counts are kept.")


def _worker(worker: WorkerLine, c: Overview, *, people: bool) -> Iterator[Moment]:
    yield Moment(worker.started_at, "A worker started", "busy", worker.id)
    if worker.stopped_at is not None:
        yield Moment(worker.stopped_at, "A worker stopped", "wait", worker.id)
    elif worker.silent_seconds >= ALIVE_SECONDS:
        detail = f"{worker.id} was last heard of then. What it held is taken over by whoever looks next."
        yield Moment(worker.heartbeat_at, "A worker fell silent", "care" if c.ended is None else "wait", detail)
    elif worker.problem:
        said = worker.problem if people else mask_foreign(worker.problem)
        yield Moment(worker.heartbeat_at, "A worker can't send", "bad", worker.id, said)


def _merged(disturbances: Sequence[Disturbance]) -> list[Disturbance]:
    """What goes on over several minutes is one disturbance."""
    merged: list[Disturbance] = []
    for one in sorted(disturbances, key=lambda one: (one.outcome, one.first)):
        last = merged[-1] if merged else None
        if last is not None and last.outcome == one.outcome and one.first - last.last < timedelta(minutes=2):
            merged[-1] = Disturbance(
                last.minute, last.outcome, last.first, one.last, last.count + one.count, max(last.workers, one.workers),
                one.worker, one.code, one.message,
            )  # fmt: skip
        else:
            merged.append(one)
    return merged


def _disturbed(one: Disturbance, *, people: bool) -> Moment:
    said = one.message or ""
    said = said if people else mask_foreign(said)
    times = "once" if one.count == 1 else f"{amount(one.count)} times"
    match one.outcome:
        case "recovered":
            gone = (
                f"{amount(one.count)} deliveries were in flight then"
                if one.count > 1
                else "1 delivery was in flight then"
            )
            return Moment(one.first, "A worker died; another took over", "care", f"{one.worker}: {gone}.")
        case "account":
            return Moment(
                one.first, "The provider refused the account", "bad", f"{times}; nobody was burnt by it.", said
            )
        case "rate_limited":
            return Moment(one.first, "Paused by the provider", "care", f"It asked to slow down, {times}.", said)
        case _:
            return Moment(one.first, "The provider could not be reached", "care", f"{times}.", said)


def _ordered(order: OrderView) -> Moment:
    who = f"by {order.who}" if order.order.requested_by else order.who
    return Moment(
        order.order.started_at, order.title, "busy", " · ".join(filter(None, (who, order.about, order.result)))
    )
