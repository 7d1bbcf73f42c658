"""What a worker counts of its own hand-offs, for Prometheus.

Flows in: one call per thing that happened, from the loop. Flows out: series in the registry that the entry point
made, served by `health`. Every series of a campaign carries its namespace and name, and goes away with it. How the
campaign stands as a whole is told by the operator, which also sees it when all workers are frozen.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Histogram

__all__ = ["DeliverySeries", "Outcome", "ProviderSeries", "WorkerMetrics"]

Outcome = Literal[
    "sent", "failed", "uncertain", "suppressed", "expired", "cancelled", "retry", "rate_limited"
]  # fmt: skip

# From a far end on the same machine to SMTP's patience after the final dot.
_SEND_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0)


class DeliverySeries(NamedTuple):
    """The labels that the deliveries of one message of a campaign share. Make it once per batch."""

    namespace: str
    campaign: str
    channel: str
    provider: str


class ProviderSeries(NamedTuple):
    """The labels of a provider; `namespace` is empty for a cluster provider."""

    namespace: str
    provider: str


class WorkerMetrics:
    """The worker's metrics. Its methods are called from one thread; the registry may be read from another."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register every metric. ValueError if the registry has them already."""
        self._deliveries = Counter(
            "sendonce_deliveries",
            "Attempts that ended, by outcome; retry and rate_limited come back.",
            (*DeliverySeries._fields, "outcome"),
            registry=registry,
        )
        self._counters: dict[tuple[DeliverySeries, str], Counter] = {}
        self._register_providers(registry)
        self._lease_lost = Counter("sendonce_lease_lost", "Batches whose lease this worker lost.", registry=registry)

    def _register_providers(self, registry: CollectorRegistry) -> None:
        labels = ProviderSeries._fields
        self._send_duration = Histogram(
            "sendonce_send_duration_seconds",
            "Time from handing a message, or several in one request, to the provider to its answer.",
            labels,
            registry=registry,
            buckets=_SEND_SECONDS,
        )
        self._durations: dict[ProviderSeries, Histogram] = {}
        self._rate_limit_wait = Counter(
            "sendonce_rate_limit_wait_seconds",
            "Time spent waiting for the provider's pace.",
            labels,
            registry=registry,
        )

    def delivered(self, series: DeliverySeries, outcome: Outcome, count: int = 1) -> None:
        """Count attempts that ended with this outcome."""
        counter = self._counters.get((series, outcome))
        if counter is None:
            counter = self._counters[series, outcome] = self._deliveries.labels(*series, outcome)
        counter.inc(count)

    def send_took(self, series: ProviderSeries, seconds: float) -> None:
        """Record how long one hand-off took, whatever its outcome."""
        histogram = self._durations.get(series)
        if histogram is None:
            histogram = self._durations[series] = self._send_duration.labels(*series)
        histogram.observe(seconds)

    def rate_limit_waited(self, series: ProviderSeries, seconds: float) -> None:
        """Add time that was spent waiting for a slot of the provider's pace."""
        self._rate_limit_wait.labels(*series).inc(seconds)

    def lease_lost(self) -> None:
        """Count a batch whose lease went to another worker."""
        self._lease_lost.inc()

    def forget_campaign(self, namespace: str, campaign: str) -> None:
        """Remove every series of a campaign that is finished or gone. Nothing happens if there are none."""
        ended = [key for key in self._counters if (key[0].namespace, key[0].campaign) == (namespace, campaign)]
        for series, outcome in ended:
            del self._counters[series, outcome]
            self._deliveries.remove(*series, outcome)
