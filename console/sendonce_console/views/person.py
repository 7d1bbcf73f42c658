"""One person in one campaign, ready to be shown: the store's trace and the contents in, answers in words out. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sendonce_console.look import clock, tone
from sendonce_console.views.reasons import answer
from sendonce_rendering.showing import Shown, parts_of
from sendonce_store.consent import OptOut, Suppression
from sendonce_store.people import Refusal
from sendonce_store.spec import Message
from sendonce_store.tracing import Step, Trace, TracedDelivery

__all__ = ["DeliveryView", "Kept", "PersonView", "kept_from", "levers_for", "person_view"]

_TONES = {
    "accepted": "good",
    "permanent": "bad",
    "account": "bad",
    "unknown": "care",
    "recovered": "care",
    "restored": "care",
    "sending": "busy",
    "delivered": "good",
    "bounced": "bad",
    "bounced_transient": "care",
    "failed": "bad",
    "dropped": "bad",
    "complained": "bad",
    "unsubscribed": "care",
    "blocked": "bad",
}
_LEVERS = {
    "failed": ("retry",),
    "expired": ("retry",),
    "cancelled": ("retry",),
    "uncertain": ("sent", "resend", "give-up"),
}


@dataclass(frozen=True, slots=True)
class DeliveryView:
    """One delivery. `parts`: of the content, by name, without html, which `has_html` says is there to be framed."""

    traced: TracedDelivery
    title: str
    sentence: str
    tone: str
    notes: Sequence[str]
    levers: Sequence[str]
    content: Shown
    parts: Mapping[str, str]
    has_html: bool

    def tone_of(self, step: Step) -> str:
        """The colour of a line of its history."""
        return _TONES.get(step.outcome, "wait")


@dataclass(frozen=True, slots=True)
class Kept:
    """An entry that keeps messages from an address: what, since when and where it came from."""

    channel: str
    address: str
    words: str
    source: str
    since: datetime | None
    lifts: bool  # an order of a person's made it, and an order can take it back


@dataclass(frozen=True, slots=True)
class PersonView:
    """The whole. `title` and `sentence` answer at one look; `unreached`: channels without a delivery, and why."""

    trace: Trace
    title: str
    sentence: str
    tone: str
    deliveries: Sequence[DeliveryView]
    unreached: Sequence[tuple[str, str]]


def person_view(trace: Trace, contents: Sequence[Shown], messages: Sequence[Message]) -> PersonView:
    """Put it into words. `contents`: of the deliveries, in the same order."""
    views = [_delivery(one, shown, trace.person.no) for one, shown in zip(trace.deliveries, contents, strict=True)]
    title, sentence, colour = _headline(views)
    return PersonView(trace, title, sentence, colour, views, list(_unreached(trace, messages)))


def _headline(views: Sequence[DeliveryView]) -> tuple[str, str, str]:
    if not views:
        return "Nothing was sent", "There is no address for any channel of this campaign.", "care"
    # whoever got it over any channel got it
    best = min(views, key=lambda view: _RANK.get(view.traced.delivery.state, len(_RANK)))
    over = f"{best.traced.delivery.channel}: " if len(views) > 1 else ""
    return over + best.title, best.sentence, best.tone


_RANK = {
    state: rank
    for rank, state in enumerate(
        ("sent", "sending", "uncertain", "pending", "failed", "suppressed", "expired", "cancelled")
    )
}


def _delivery(one: TracedDelivery, shown: Shown, line: int) -> DeliveryView:
    d = one.delivery
    at = d.finished_at or d.last_attempt_at
    title, sentence = answer(d.state, d.reason, at=at, provider=d.provider, maybe_accepted=d.maybe_accepted)
    parts = dict(parts_of(shown.content)) if shown.content else {}
    html = parts.pop("html", None)
    return DeliveryView(
        one,
        title,
        sentence,
        tone(d.state),
        list(_notes(one, line)),
        levers_for(d.state),
        shown,
        parts,
        html is not None,
    )


def _notes(one: TracedDelivery, line: int) -> Iterator[str]:
    d = one.delivery
    if d.line != line:
        yield f"The same address stands in line {d.line}, whose message this is: nobody gets it twice."
    if d.state == "pending" and d.next_attempt_at is not None:
        yield f"The next attempt is due at {clock(d.next_attempt_at)} UTC."
    if d.maybe_accepted and d.state != "sent":
        yield "An earlier attempt may have reached this person."
    yield from (_refusal(refusal) for refusal in one.refusals)


def _refusal(refusal: Refusal) -> str:
    source = f", from {refusal.source}" if refusal.source else ""
    since = f"since {clock(refusal.created_at)} UTC{source}"
    if refusal.kind == "suppressed":
        return f"The address is suppressed ({refusal.reason}), {since}."
    about = refusal.category if not refusal.topic else f"{refusal.category}, topic {refusal.topic}"
    return f"The person has opted out of {about}, {since}."


def levers_for(state: str) -> Sequence[str]:
    """The levers that a delivery in this state can take, by key; anybody can be suppressed."""
    return (*_LEVERS.get(state, ()), "suppress")


def _unreached(trace: Trace, messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    there = {one.delivery.channel for one in trace.deliveries}
    for message in messages:
        channel = message.channel.value
        if channel in there:
            continue
        if channel in trace.unaddressed:
            yield channel, "No address for this channel."
        elif message.after is not None:
            yield channel, f"Only if {message.after.channel.value} does not reach this person."
        else:
            yield channel, "No delivery was made."


def kept_from(suppressions: Sequence[Suppression], opt_outs: Sequence[OptOut]) -> list[Kept]:
    """What keeps messages from a person, with its origin."""
    hard = [
        Kept(
            one.channel,
            one.address,
            f"Suppressed for every message: {one.reason}",
            one.source or "not said",
            one.created_at,
            lifts=one.reason == "blocked" and (one.source or "").startswith("order "),
        )
        for one in suppressions
    ]
    return hard + [
        Kept(
            one.channel,
            one.address,
            f"Opted out of {one.category}" + (f", topic {one.topic}" if one.topic else ", all topics"),
            one.source or "not said",
            one.created_at,
            lifts=False,
        )
        for one in opt_outs
    ]
