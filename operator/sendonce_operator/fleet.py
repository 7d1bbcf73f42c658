"""The series of campaigns and providers: the figures of the last look in, samples out at each scrape.

What is no longer looked at has no series: nothing has to be removed, and nothing is left behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from sendonce_operator.decisions.figures import CampaignFigures, ProviderFigures
from sendonce_operator.paths import Key

F = TypeVar("F")
Samples = Iterator[tuple[tuple[str, ...], float]]


@dataclass(frozen=True, slots=True)
class Series(Generic[F]):
    """A metric: its name, its help, the labels beside those of the object, and its samples of one object's figures."""

    name: str
    text: str
    samples: Callable[[F], Samples]
    labels: tuple[str, ...] = ()


def _one(name: str) -> Callable[[F], Samples]:
    """The sample of a field; none where it is None."""

    def samples(figures: F) -> Samples:
        value = getattr(figures, name)
        if value is not None:
            yield (), float(value)

    return samples


def _state(figures: CampaignFigures) -> Samples:
    if figures.state is not None:
        yield figures.state, 1.0


def _deliveries(figures: CampaignFigures) -> Samples:
    for state, count in figures.deliveries.items():
        yield (state,), float(count)


CAMPAIGN_SERIES: tuple[Series[CampaignFigures], ...] = (
    Series(
        "sendonce_campaign_state", "1: how it stands, the condition Ready and its reason", _state, ("ready", "reason")
    ),
    Series("sendonce_campaign_deliveries", "Deliveries by state", _deliveries, ("state",)),
    Series(
        "sendonce_campaign_unresolved_deliveries",
        "Deliveries of unknown outcome, which a person has to resolve",
        _one("unresolved"),
    ),
    Series("sendonce_campaign_due_deliveries", "Deliveries that are under way, or could be", _one("due")),
    Series("sendonce_campaign_workers_wanted", "Workers that it is to have", _one("workers_wanted")),
    Series("sendonce_campaign_workers_ready", "Workers that are ready", _one("workers_ready")),
    Series("sendonce_campaign_pace", "Deliveries that end per second, over the last minutes", _one("pace")),
    Series(
        "sendonce_campaign_pace_wanted",
        "Deliveries per second that its share of its providers' limits allows; 0 without limits",
        _one("pace_wanted"),
    ),
    Series(
        "sendonce_campaign_standstill_seconds",
        "For how long no delivery has ended though some could",
        _one("standstill"),
    ),
    Series("sendonce_campaign_deadline_timestamp_seconds", "Its deadline", _one("deadline")),
    Series("sendonce_campaign_estimated_end_timestamp_seconds", "Its end at this pace", _one("estimated_end")),
    Series(
        "sendonce_batch_heartbeat_age_seconds",
        "Since the last heartbeat of the batch that has been silent for longest; 0 with none held",
        _one("heartbeat_age"),
    ),
    Series("sendonce_batches_stuck", "Batches whose lease has run out and that nobody has taken over", _one("stuck")),
)
PROVIDER_SERIES: tuple[Series[ProviderFigures], ...] = (
    Series("sendonce_provider_paused", "1 while it is paused", _one("paused")),
    Series("sendonce_provider_suspended", "1 while it is suspended, or its object is gone", _one("suspended")),
    Series(
        "sendonce_provider_paused_seconds",
        "For how long nothing has got through since it was first paused",
        _one("paused_seconds"),
    ),
    Series(
        "sendonce_provider_open_deliveries", "Deliveries of active campaigns that it has still to get", _one("open")
    ),
    Series("sendonce_provider_pace_limit", "Messages per second that its limits allow", _one("pace_limit")),
)


class Fleet(Collector):
    """What was last seen of all campaigns and providers. `show` and `collect` may be called from different threads."""

    def __init__(self) -> None:
        """Nothing has been seen."""
        self._campaigns: Mapping[Key, CampaignFigures] = {}
        self._providers: Mapping[Key, ProviderFigures] = {}

    def show(self, campaigns: Mapping[Key, CampaignFigures], providers: Mapping[Key, ProviderFigures]) -> None:
        """Take the place of what was seen before."""
        self._campaigns, self._providers = campaigns, providers

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All samples, metric by metric."""
        campaigns, providers = self._campaigns, self._providers
        for one in CAMPAIGN_SERIES:
            yield _family(one, "campaign", campaigns)
        for each in PROVIDER_SERIES:
            yield _family(each, "provider", providers)


def _family(series: Series[F], noun: str, seen: Mapping[Key, F]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(series.name, series.text, labels=["namespace", noun, *series.labels])
    for key, figures in seen.items():
        for labels, value in series.samples(figures):
            family.add_metric([key.namespace, key.name, *labels], value)
    return family
