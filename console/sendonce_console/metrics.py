"""What a console counts, for Prometheus. No label has a name, an address or a token: their number is bounded.

Requests are counted by `serving.counted`; whether database and API server answer is looked up at each scrape (`ops`).
"""

from __future__ import annotations

from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge

from sendonce_console.levers.wording import LEVERS
from sendonce_store.serving import RequestMetrics

__all__ = ["ConsoleMetrics", "Why"]

Why = Literal["unknown", "too_many_tries"]
_WHYS: tuple[Why, ...] = ("unknown", "too_many_tries")


class ConsoleMetrics:
    """The console's metrics. An increase is seen only from a series that is there: those of few values are, from 0."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register every metric. ValueError if the registry has them already."""
        self.registry = registry
        self.requests = RequestMetrics(registry, "console")
        self._refused = Counter(
            "sendonce_console_tokens_refused",
            "Tokens that were not accepted, of the form and of programs",
            ("why",),
            registry=registry,
        )
        self._orders = Counter("sendonce_console_orders", "Orders given, by lever", ("lever",), registry=registry)
        self._store = Gauge(
            "sendonce_console_store_up", "1: the console could read the store, at this scrape", registry=registry
        )
        self._api = Gauge(
            "sendonce_console_api_server_up",
            "1: the API server answered and lets the console ask, at this scrape",
            registry=registry,
        )
        for why in _WHYS:
            self._refused.labels(why)
        for lever in LEVERS:
            self._orders.labels(lever)

    def refused(self, why: Why) -> None:
        """Count a token that lets nobody in, or was not even reviewed."""
        self._refused.labels(why).inc()

    def ordered(self, lever: str) -> None:
        """Count an order that was given. `lever`: its key."""
        self._orders.labels(lever).inc()

    def answers(self, *, store: bool, api_server: bool) -> None:
        """Say whether what the console stands on answers."""
        self._store.set(store)
        self._api.set(api_server)
