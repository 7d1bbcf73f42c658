"""What is counted of reports. Labels are words of ours, so that their number is bounded."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter

__all__ = ["ReceiptMetrics"]


class ReceiptMetrics:
    """Reports taken in, and requests refused."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register both. ValueError if the registry has them already."""
        self._taken = Counter(
            "sendonce_gateway_receipts", "Reports of providers.", ("provider", "kind", "result"), registry=registry
        )
        self._refused = Counter(
            "sendonce_gateway_receipts_refused",
            "Requests of providers refused.",
            ("provider", "why"),
            registry=registry,
        )

    def taken(self, provider: str, kind: str, result: str) -> None:
        """Count a report. `result`: settled, marked, noted, repeated or unknown."""
        self._taken.labels(provider, kind, result).inc()

    def refused(self, provider: str, why: str) -> None:
        """Count a request. `provider` is one that we know, never a word from outside."""
        self._refused.labels(provider, why).inc()
