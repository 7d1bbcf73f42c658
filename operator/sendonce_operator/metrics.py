"""What the operator measures of itself, of campaigns and of providers, for Prometheus.

The operator tells of the whole fleet what the store and the objects say: it sees a batch whose worker is frozen, which
that worker can't tell. Workers tell of their own hand-offs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from sendonce_operator.fleet import Fleet

# refused: what its object says is wrong; the rest is Sendonce's own, or what it stands on
OWN_FAILURES = ("ApiServer", "Busy", "Internal", "StoreUnavailable")


class OperatorMetrics:
    """The operator's series in one registry."""

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float] = time.monotonic) -> None:
        """Register all series; `clock` gives monotonic seconds."""
        self.registry = registry
        self._clock = clock
        self.fleet = Fleet()
        registry.register(self.fleet)
        self._register_work(registry)
        self._register_health(registry)

    def _register_work(self, registry: CollectorRegistry) -> None:
        self.reconcile = Histogram(
            "sendonce_reconcile_duration_seconds", "Time for one reconcile of an object", ["kind"], registry=registry
        )
        self.tick = Histogram(
            "sendonce_tick_duration_seconds", "Time for one look at all active campaigns", registry=registry
        )
        self.failures = Counter(
            "sendonce_reconcile_failures_total", "What failed and will be tried again", ["why"], registry=registry
        )
        for why in OWN_FAILURES:
            # an increase is seen only from a series that is there
            self.failures.labels(why)
        self.writes = Counter("sendonce_api_writes_total", "Writes to the API server", ["what"], registry=registry)

    def _register_health(self, registry: CollectorRegistry) -> None:
        self.canary_age = Gauge(
            "sendonce_watch_canary_age_seconds", "Since the watch should have shown a change", registry=registry
        )
        self.store_up = Gauge("sendonce_store_up", "1: the store could be used at the last look", registry=registry)
        self.looked = _Age(
            "sendonce_look_age_seconds", "Since the last look at all campaigns ended", registry, self._clock
        )
        self.listed = _Age("sendonce_list_age_seconds", "Since all objects were last listed", registry, self._clock)


class _Age:
    """A gauge that grows by itself from the last time on: it tells of a loop that hangs, too."""

    def __init__(self, name: str, text: str, registry: CollectorRegistry, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._at = clock()
        Gauge(name, text, registry=registry).set_function(self._age)

    def _age(self) -> float:
        return self._clock() - self._at

    def now(self) -> None:
        """It has happened."""
        self._at = self._clock()
