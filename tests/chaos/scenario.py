"""From a seed to everything that a run does: the campaign, the list, the far end's moods, and what goes wrong when.

In: a seed. Out: one frozen `Scenario`. No clock and no chance but the seed's, so that the same seed is the same
schedule; only the machine's own timing differs between two runs of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

KINDS = ("keyed", "window", "hold", "resend", "smtp", "import")
# far shorter than in production, so that a run lasts seconds; the lease is TIMEOUT + 2 + 3 heartbeats
TIMEOUT, HEARTBEAT, SHORT_WINDOW = 1, 0.3, 6
PATIENCE = TIMEOUT + 2.0
LEASE = PATIENCE + 3 * HEARTBEAT
BATCHES_PER_WORKER = 2


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that goes wrong, or that a person does.

    `at`: the share of the hand-offs (or of the import, if `importing`) after which it happens. `values` are the
    action's own numbers and words.
    """

    at: float
    action: str
    values: Mapping[str, Any] = field(default_factory=dict)
    importing: bool = False

    def __str__(self) -> str:
        """As the schedule is printed."""
        words = " ".join(f"{name}={value}" for name, value in self.values.items())
        return f"{self.at:5.0%} of the {'import' if self.importing else 'hand-offs'}: {self.action} {words}".rstrip()


@dataclass(frozen=True, slots=True)
class Audience:
    """How the list is made up: people, and lines that are none."""

    people: int
    duplicates: int
    broken: int
    unreachable: int
    no_email: int  # people with a phone alone, where the campaign uses SMS


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole run."""

    seed: int
    kind: str
    audience: Audience
    sms: str  # none | after | both
    workers: int
    concurrency: int
    canary: str  # none | automatic | manual
    far_end: Mapping[str, float]  # options of the far end
    chances: Mapping[str, float]
    max_attempts: int
    events: tuple[Event, ...]
    afterwards: tuple[Event, ...]  # orders that a person gives when the campaign has ended

    @property
    def resend(self) -> bool:
        """Whether the campaign's policy is Resend."""
        return self.kind == "resend"

    @property
    def key_window(self) -> float | None:
        """Seconds for which the HTTP far end remembers keys; None: it knows none."""
        if self.kind in {"hold", "resend"}:
            return None
        return SHORT_WINDOW if self.kind == "window" else 86_400

    def window_of(self, channel: str) -> float | None:
        """The key window of a channel's provider."""
        return None if self.kind == "smtp" and channel == "Email" else self.key_window


def scenario_of(seed: int) -> Scenario:
    """The run of a seed."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    audience = _audience(rng, kind)
    sms = rng.choice(("none", "none", "none", "after", "after", "both"))
    workers = rng.choice((2, 2, 3))
    return Scenario(
        seed=seed,
        kind=kind,
        audience=audience if sms != "none" else _without_phones(audience),
        sms=sms,
        workers=workers,
        concurrency=rng.choice((8, 12, 20)),
        canary=rng.choice(("none", "none", "none", "none", "automatic", "manual")) if kind != "import" else "none",
        far_end={
            "latency": round(rng.uniform(0.03, 0.12), 3),
            "jitter": round(rng.uniform(0.0, 0.1), 3),
            "hang-seconds": rng.choice((1.5, 3.0, LEASE + 1)),
            "seed": seed,
        },
        chances=_chances(rng),
        max_attempts=rng.choice((4, 6, 10)),
        events=_events(rng, kind, workers),
        afterwards=_afterwards(rng),
    )


def _audience(rng: random.Random, kind: str) -> Audience:
    people = rng.randrange(200, 420)
    if kind == "import":
        return Audience(people, rng.randrange(600, 1200), rng.randrange(200, 800), rng.randrange(20, 60), 30)
    return Audience(people, rng.randrange(40), rng.randrange(20), rng.randrange(10), rng.randrange(20))


def _without_phones(audience: Audience) -> Audience:
    return Audience(audience.people, audience.duplicates, audience.broken, audience.unreachable, 0)


def _chances(rng: random.Random) -> dict[str, float]:
    """A far end with some of its faults, each seldom."""
    most = {"transient": 0.06, "permanent": 0.05, "throttle": 0.003, "hang": 0.015, "slow": 0.01, "stall": 0.01}
    most |= {"drop": 0.02, "lost": 0.03, "garbage": 0.01}
    chosen = {name: round(rng.uniform(0, top), 4) for name, top in most.items() if rng.random() < 0.55}
    if rng.random() < 0.08:
        chosen["account"] = 0.002
    return chosen


Draw = Callable[[random.Random, int], dict[str, Any]]


def _worker(rng: random.Random, workers: int) -> dict[str, Any]:
    return {"worker": rng.randrange(workers)}


def _freeze(rng: random.Random, workers: int) -> dict[str, Any]:
    return _worker(rng, workers) | {"seconds": round(rng.uniform(LEASE + 0.5, LEASE + 4), 1)}


def _term(rng: random.Random, workers: int) -> dict[str, Any]:
    return _worker(rng, workers) | {"grace": rng.choice((0.05, 0.3, 1.0, 4.0))}


def _some(rng: random.Random, workers: int) -> dict[str, Any]:
    return {"worker": rng.choice((None, rng.randrange(workers)))}


def _lost(rng: random.Random, workers: int) -> dict[str, Any]:
    return _some(rng, workers) | {"of": rng.choice(("commit", "commit", "any")), "times": rng.choice((1, 2, 4))}


def _late(rng: random.Random, workers: int) -> dict[str, Any]:
    how = rng.choice(("held", "ghost"))
    longest = LEASE + 3 if how == "held" else 6.0
    return _some(rng, workers) | {
        "how": how,
        "seconds": round(rng.uniform(LEASE + 0.3 if how == "held" else 0.6, longest), 1),
    }


def _outage(rng: random.Random, _: int) -> dict[str, Any]:
    return {"outage": rng.choice(("close", "answer", "refuse")), "seconds": round(rng.uniform(0.3, 1.2), 1)}


def _hang(rng: random.Random, _: int) -> dict[str, Any]:
    name = rng.choice(("hang", "slow", "stall"))
    return {
        "fate": name,
        "seconds": round(rng.uniform(0.5, 1.5), 1),
        "hang_seconds": round(LEASE + rng.uniform(0.3, 2), 1),
    }


def _suspend(rng: random.Random, _: int) -> dict[str, Any]:
    return {"seconds": round(rng.uniform(0.5, 2.5), 1)}


def _opt_out(rng: random.Random, _: int) -> dict[str, Any]:
    return {"people": rng.choice((5, 20, 60))}


def _resolve(rng: random.Random, _: int) -> dict[str, Any]:
    return {"as": rng.choice(("sent", "failed", "resend"))}


def _soon(rng: random.Random, _: int) -> dict[str, Any]:
    return {"seconds": round(rng.uniform(0.1, 1.5), 1)}


def _nothing(_: random.Random, __: int) -> dict[str, Any]:
    return {}


# action, weight, its values
_FAULTS: tuple[tuple[str, float, Draw], ...] = (
    ("kill", 5, _worker),
    ("freeze", 5, _freeze),
    ("term", 4, _term),
    ("restart", 3, _nothing),
    ("cut", 3, _some),
    ("lose", 5, _lost),
    ("late", 4, _late),
    ("hang", 2, _hang),
    ("outage", 2, _outage),
    ("throttle", 1, _suspend),
    ("suspend", 3, _suspend),
    ("opt_out", 3, _opt_out),
    ("retry", 2, _nothing),
    ("resolve", 2, _resolve),
    ("cancel", 1, _nothing),
    ("deadline", 0.5, _soon),
)
# misfortunes that come in the same moment find what each alone does not
_COMPANY = 0.3
_IMPORT_FAULTS = ("kill", "kill", "freeze", "term", "restart", "cut", "lose", "lose", "late", "suspend", "cancel")


def _events(rng: random.Random, kind: str, workers: int) -> tuple[Event, ...]:
    actions, weights = [f[0] for f in _FAULTS], [f[1] for f in _FAULTS]
    draw = {name: values for name, _, values in _FAULTS}
    events = []
    for action in rng.choices(actions, weights, k=rng.randrange(3, 7)):
        at = round(rng.uniform(0.02, 0.8), 2)
        events.append(Event(at, action, draw[action](rng, workers)))
        if rng.random() < _COMPANY:
            other = rng.choices(actions, weights)[0]
            events.append(Event(at, other, draw[other](rng, workers)))
    if kind == "import":
        names = rng.choices(_IMPORT_FAULTS, k=rng.randrange(2, 4))
        events += [
            Event(round(rng.uniform(0.0, 0.9), 2), name, draw[name](rng, workers), importing=True) for name in names
        ]
    return tuple(sorted(events, key=lambda event: (not event.importing, event.at)))


def _afterwards(rng: random.Random) -> tuple[Event, ...]:
    if rng.random() < 0.6:
        return ()
    action = rng.choice(("retry", "resolve", "resolve"))
    return (Event(1.0, action, _resolve(rng, 0) if action == "resolve" else {}),)
