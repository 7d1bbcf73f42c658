"""Every metric of the four programs, as they expose it: one sample of each, from their own registries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Metric

from sendonce_console.metrics import ConsoleMetrics
from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.receipts.counting import ReceiptMetrics
from sendonce_operator.decisions.figures import STATES, CampaignFigures, ProviderFigures
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import CAMPAIGN, PROVIDER
from sendonce_operator.paths import Key
from sendonce_worker.metrics import DeliverySeries, ProviderSeries, WorkerMetrics


@dataclass(frozen=True)
class Exposed:
    """A metric: the name that a query uses, its type, its labels and its help."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str
    program: str

    @property
    def queried(self) -> set[str]:
        """All names under which it is found."""
        return {self.name, *(self.name + end for end in ("_bucket", "_sum", "_count") if self.kind == "histogram")}

    @property
    def row(self) -> str:
        """Its row in docs/monitoring.md."""
        labels = ", ".join(f"`{label}`" for label in self.labels)
        return f"| `{self.name}` | {self.kind} | {labels} | {self.text} |"


def operator() -> CollectorRegistry:
    """An operator that has seen one campaign and one provider."""
    registry = CollectorRegistry()
    metrics = OperatorMetrics(registry)
    campaign = CampaignFigures(
        ("True", "Sending"), dict.fromkeys(STATES, 1), 1, 1, 1, 1, 1.0, 1, 1.0, 1.0, 1.0, 1.0, 1.0
    )
    provider = ProviderFigures(paused=True, suspended=True, paused_seconds=1.0, open=1, pace_limit=1.0)
    metrics.fleet.show({Key(CAMPAIGN, "shop", "spring"): campaign}, {Key(PROVIDER, "shop", "smtp"): provider})
    metrics.reconcile.labels(CAMPAIGN).observe(1)
    metrics.tick.observe(1)
    metrics.writes.labels("status").inc()
    return registry


def worker() -> CollectorRegistry:
    """A worker that has sent one message."""
    registry = CollectorRegistry()
    metrics, smtp = WorkerMetrics(registry), ProviderSeries("shop", "smtp")
    metrics.delivered(DeliverySeries("shop", "spring", "Email", "smtp"), "sent")
    metrics.send_took(smtp, 1.0)
    metrics.rate_limit_waited(smtp, 1.0)
    return registry


def console() -> CollectorRegistry:
    """A console that has answered once."""
    registry = CollectorRegistry()
    ConsoleMetrics(registry).requests.answered("/", 200, 1.0)
    return registry


def gateway() -> CollectorRegistry:
    """A gateway that has answered everybody once."""
    registry = CollectorRegistry()
    metrics, receipts = GatewayMetrics(registry), ReceiptMetrics(registry)
    metrics.requests.answered("/u/{token}", 200, 1.0)
    metrics.wished("out", "page")
    receipts.taken("ses", "delivered", "marked")
    receipts.refused("ses", "bad_signature")
    return registry


def _labels(family: Metric) -> tuple[str, ...]:
    """In the order in which the program names them; `le` is a histogram's own."""
    kept = [sample for sample in family.samples if not sample.name.endswith("_created")]
    assert kept, f"{family.name} has no sample"
    return tuple(label for label in kept[0].labels if label != "le")


def _read(registry: CollectorRegistry, program: str) -> Iterator[Exposed]:
    for family in registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield Exposed(name, family.type, _labels(family), family.documentation.rstrip("."), program)


def exposed() -> list[Exposed]:
    """All metrics: the operator's, the worker's, the console's, the gateway's."""
    programs = {"operator": operator(), "worker": worker(), "console": console(), "gateway": gateway()}
    return [one for program, registry in programs.items() for one in _read(registry, program)]
