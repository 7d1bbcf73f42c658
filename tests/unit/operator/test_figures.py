"""What Prometheus is told of campaigns and providers: which numbers, for how long, and how many series."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from tests.operator_cases.situations import COMPLETE, IDLE, NOW, after, sending, situation

from sendonce_operator.decisions.facts import Situation
from sendonce_operator.decisions.figures import (
    LINGER,
    CampaignFigures,
    ProviderFigures,
    Sighting,
    campaign_figures,
    provider_figures,
    troubled_since,
)
from sendonce_operator.decisions.pacing import contest, wanted
from sendonce_operator.decisions.progress import Progress
from sendonce_operator.fleet import CAMPAIGN_SERIES, PROVIDER_SERIES, Fleet
from sendonce_operator.metrics import OperatorMetrics
from sendonce_operator.objects import CAMPAIGN, PROVIDER
from sendonce_operator.paths import Key
from sendonce_store.backlog import Line
from sendonce_store.operating import ProviderState
from sendonce_store.spec import CampaignStatus
from sendonce_store.standing import Counts

SMTP = ("NotificationProvider", "shop", "smtp")
LINE = Line(1, *SMTP, ready=6000, open=7000, silent=12.0, stuck=0)
ENDED: dict[str, Any] = {**COMPLETE, "completed_at": NOW}


def shown(before: Situation) -> CampaignStatus:
    """The status that the operator writes."""
    found = after(before).subject.status
    assert found is not None
    return found


def seen(before: Situation | None = None, **changes: Any) -> Sighting:
    """A campaign that sends, as it was read."""
    begun = before or situation()
    base = Sighting(now=NOW, status=shown(begun), overview=begun.overview, lines=[LINE], limits={SMTP: 50.0})
    return replace(base, rivals=contest([LINE], {1: 1}), **changes)


def figures(sighting: Sighting) -> CampaignFigures:
    found = campaign_figures(sighting)
    assert found is not None
    return found


# --- one campaign ----------------------------------------------------------------------------------------------------
def test_a_campaign_that_sends_shows_its_state_counts_and_workers() -> None:
    found = figures(seen())
    assert found.state == ("True", "Sending")
    assert found.deliveries["pending"] == 600
    assert set(found.deliveries) == {
        "pending", "sending", "sent", "failed", "uncertain", "suppressed", "expired", "cancelled",
    }  # fmt: skip
    assert (found.workers_wanted, found.workers_ready) == (1, 1)
    assert (found.due, found.heartbeat_age, found.stuck) == (6000, 12.0, 0)


def test_lines_of_several_providers_are_added_and_the_longest_silence_counts() -> None:
    other = replace(LINE, provider="line", ready=5, silent=300.0, stuck=2)
    found = figures(seen(lines=[LINE, other]))
    assert (found.due, found.heartbeat_age, found.stuck) == (6005, 300.0, 2)


def test_a_campaign_that_is_refused_shows_only_what_its_object_says() -> None:
    refused = situation(None)
    found = figures(seen(refused, lines=[]))
    assert found.state == ("Unknown", "Starting")
    assert (found.pace, found.pace_wanted, found.standstill, found.deadline) == (None, None, None, None)


def test_while_the_store_is_away_what_is_open_is_not_told() -> None:
    found = figures(seen(lines=None))
    assert (found.due, found.heartbeat_age, found.stuck, found.pace_wanted) == (None, None, None, None)
    assert found.state == ("True", "Sending")


def test_standstill_is_counted_from_the_last_delivery_that_ended() -> None:
    still = Progress(NOW, 300, 2.5, NOW - timedelta(seconds=700))
    assert figures(seen(progress=still)).standstill == 700
    assert figures(seen(progress=still)).pace == 2.5
    idle = situation(sending(**IDLE))
    assert figures(seen(idle, progress=still)).standstill == 0, "what waits for its time does not stand still"
    assert figures(seen()).standstill == 0, "nothing is known yet"


def test_a_provider_that_takes_one_message_an_hour_makes_no_standstill_of_an_hour() -> None:
    hourly = {SMTP: 1 / 3600}
    hour = Progress(NOW, 300, None, NOW - timedelta(hours=1))
    day = Progress(NOW, 300, None, NOW - timedelta(days=1))
    assert figures(seen(progress=hour, limits=hourly)).standstill == 0
    assert figures(seen(progress=day, limits=hourly)).standstill == 86_400


def test_deadline_and_estimate_are_told_as_times() -> None:
    late = situation(sending(deadline=NOW + timedelta(hours=2)), progress=Progress(NOW, 300, 0.01, NOW))
    found = figures(seen(late))
    assert found.deadline == (NOW + timedelta(hours=2)).timestamp()
    assert found.estimated_end is not None
    assert found.estimated_end > found.deadline


def test_an_ended_campaign_is_shown_until_its_last_numbers_are_scraped_and_then_no_more() -> None:
    done = situation(sending(**ENDED))
    found = figures(seen(done, now=NOW + LINGER - timedelta(seconds=1)))
    assert (found.deliveries["sent"], found.state) == (990, ("True", "SomeUndelivered"))
    assert found.standstill is None
    assert campaign_figures(seen(done, now=NOW + LINGER)) is None


def test_an_ended_campaign_with_unknown_outcomes_is_shown_until_a_person_has_resolved_them() -> None:
    done = situation(sending(**{**ENDED, "counts": Counts(sent=990, uncertain=10)}))
    found = figures(seen(done, now=NOW + timedelta(days=2)))
    assert found == CampaignFigures(unresolved=10)


def test_a_campaign_that_failed_is_shown_until_its_object_is_gone() -> None:
    why = {"ended": "failed", "ended_reason": "SourceUnreadable", "ended_message": "404"}
    found = figures(seen(situation(sending(**ENDED | why)), now=NOW + timedelta(days=2)))
    assert found == CampaignFigures(state=("False", "SourceUnreadable"))


def test_a_campaign_that_a_person_cancelled_leaves_nothing() -> None:
    why = {"ended": "failed", "ended_reason": "Cancelled", "ended_message": ""}
    assert campaign_figures(seen(situation(sending(**ENDED | why)), now=NOW + timedelta(days=2))) is None


# --- pace ------------------------------------------------------------------------------------------------------------
def line(campaign: int, ready: int = 100_000, place: tuple[str, str, str] = SMTP) -> Line:
    return Line(campaign, *place, ready=ready, open=ready, silent=0, stuck=0)


def pace(campaign: int, lines: list[Line], priorities: dict[int, int], limit: float | None = 60.0) -> float:
    own = [one for one in lines if one.campaign_id == campaign]
    return wanted(own, {SMTP: limit}, priorities[campaign], contest(lines, priorities))


def test_a_campaign_alone_is_to_have_the_whole_pace() -> None:
    assert pace(1, [line(1)], {1: 1}) == 60


def test_equals_share_and_who_stands_behind_gets_a_tenth_of_a_share() -> None:
    three = [line(1), line(2), line(3)]
    assert pace(1, three, {1: 1, 2: 1, 3: 1}) == 20
    assert pace(1, three, {1: 0, 2: 2, 3: 0}) == pytest.approx(2)
    assert pace(2, three, {1: 0, 2: 2, 3: 0}) == 20


def test_who_has_nothing_due_or_stands_still_takes_no_share() -> None:
    assert pace(1, [line(1), line(2, ready=0), line(3)], {1: 1, 2: 1}) == 60


def test_little_is_not_expected_to_go_fast_and_without_limits_nothing_is_expected() -> None:
    assert pace(1, [line(1, ready=120)], {1: 1}) == 2
    assert pace(1, [line(1)], {1: 1}, limit=None) == 0
    assert pace(1, [line(1)], {1: 1}, limit=1 / 60) == 0, "a handful of messages is no measure"


def test_a_campaign_that_can_send_nothing_is_to_have_no_pace() -> None:
    assert figures(seen()).pace_wanted == 50
    assert figures(seen(situation(sending(suspended=True)))).pace_wanted == 0


# --- providers -------------------------------------------------------------------------------------------------------
def state(pauses: int = 0, until: float | None = None) -> ProviderState:
    end = None if until is None else NOW + timedelta(seconds=until)
    return ProviderState("shop", "NotificationProvider", "smtp", False, end, None, None, pauses, NOW)


def test_a_provider_is_in_trouble_from_its_first_pause_until_something_gets_through() -> None:
    first = troubled_since({}, [state(1, 30)], 100.0)
    between = troubled_since(first, [state(1, -5)], 160.0)
    later = troubled_since(between, [state(2, 60)], 200.0)
    assert later == {SMTP: 100.0}
    assert troubled_since(later, [state(0)], 210.0) == {}


def test_what_a_provider_shows() -> None:
    found = provider_figures(state(2, 60), 100.0, 250.0, [line(1, 10), line(2, 5)], 4.0)
    assert found == ProviderFigures(paused=True, suspended=False, paused_seconds=150.0, open=15, pace_limit=4.0)
    assert not provider_figures(state(1, -1), None, 0.0, [], None).paused


# --- series ----------------------------------------------------------------------------------------------------------
def crowd(count: int) -> dict[Key, CampaignFigures]:
    full = figures(seen(situation(sending(deadline=NOW + timedelta(days=9)), progress=Progress(NOW, 1, 9.0, NOW))))
    full = replace(full, estimated_end=1.0)
    return {Key(CAMPAIGN, "shop", f"c{no}"): full for no in range(count)}


def samples(registry: CollectorRegistry) -> int:
    return sum(len(family.samples) for family in registry.collect())


def test_a_thousand_campaigns_have_so_many_series_each_and_leave_none_behind() -> None:
    registry = CollectorRegistry()
    metrics = OperatorMetrics(registry)
    empty = samples(registry)
    metrics.fleet.show(crowd(1000), {})
    assert samples(registry) - empty == 1000 * (len(CAMPAIGN_SERIES) + 7)
    metrics.fleet.show({}, {})
    assert samples(registry) == empty < 100


def test_every_field_of_the_figures_has_a_series() -> None:
    fleet = Fleet()
    provider = ProviderFigures(paused=True, suspended=False, paused_seconds=1.0, open=2, pace_limit=3.0)
    fleet.show(crowd(1), {Key(PROVIDER, "shop", "smtp"): provider})
    families = list(fleet.collect())
    assert len(families) == len(CAMPAIGN_SERIES) + len(PROVIDER_SERIES)
    assert all(family.samples for family in families)
    assert {sample.labels["namespace"] for family in families for sample in family.samples} == {"shop"}


def test_ages_grow_by_themselves_until_it_happens_again() -> None:
    now = 100.0
    registry = CollectorRegistry()
    metrics = OperatorMetrics(registry, lambda: now)
    now = 130.0
    assert registry.get_sample_value("sendonce_look_age_seconds") == 30
    metrics.looked.now()
    assert registry.get_sample_value("sendonce_look_age_seconds") == 0
    assert registry.get_sample_value("sendonce_list_age_seconds") == 30
