"""The lease as a worker's own clocks see it."""

import time
from collections.abc import Callable

import pytest

from sendonce_worker.providers.errors import HandOffRefusedError
from sendonce_worker.sending.clock import Lease, Moment, boot_clock


class Hands:
    """Two clocks that a test sets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.boot, self.wall = 1000.0, 5000.0
        monkeypatch.setattr(time, "clock_gettime", lambda _: self.boot)
        monkeypatch.setattr(time, "time", lambda: self.wall)

    def go(self, seconds: float) -> None:
        self.boot += seconds
        self.wall += seconds


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> Hands:
    return Hands(monkeypatch)


def _refused(clearance: Callable[[], None]) -> bool:
    try:
        clearance()
    except HandOffRefusedError:
        return True
    return False


def test_the_boot_clock_counts_sleep() -> None:
    assert abs(boot_clock() - time.clock_gettime(time.CLOCK_BOOTTIME)) < 1


def test_a_hand_off_must_fit_into_what_is_left_of_the_lease(hands: Hands) -> None:
    lease = Lease(length=15, patience=5, asked_at=Moment.now())
    assert not _refused(lease.clearance)
    hands.go(10)
    assert not _refused(lease.clearance)
    hands.go(0.1)
    assert _refused(lease.clearance)


def test_the_lease_counts_from_before_it_was_asked_for(hands: Hands) -> None:
    asked = Moment.now()
    hands.go(11)  # the answer took that long
    lease = Lease(length=15, patience=5, asked_at=asked)
    assert _refused(lease.clearance)


def test_a_renewal_counts_anew(hands: Hands) -> None:
    lease = Lease(length=15, patience=5, asked_at=Moment.now())
    hands.go(12)
    lease.renewed(Moment.now())
    hands.go(9)
    assert not _refused(lease.clearance)


def test_a_lost_lease_and_a_stopping_worker_hand_off_nothing(hands: Hands) -> None:
    lost, stopping = (Lease(length=15, patience=5, asked_at=Moment.now()) for _ in range(2))
    lost.lose()
    stopping.stopping = True
    assert _refused(lost.clearance)
    assert _refused(stopping.clearance)


@pytest.mark.parametrize("jump", [60.0, -60.0])
def test_when_the_clocks_disagree_nothing_is_handed_off_until_a_renewal(hands: Hands, jump: float) -> None:
    lease = Lease(length=15, patience=5, asked_at=Moment.now())
    hands.wall += jump  # the machine was paused from outside, and its wall clock has been set right
    assert _refused(lease.clearance)
    lease.renewed(Moment.now())
    assert not _refused(lease.clearance)


def test_a_machine_that_was_paused_while_it_asked_for_its_lease_hands_off_nothing(hands: Hands) -> None:
    asked = Moment.now()
    hands.wall += 60
    lease = Lease(length=15, patience=5, asked_at=asked)
    assert _refused(lease.clearance)
    asked = Moment.now()
    hands.wall += 60
    lease.renewed(asked)
    assert _refused(lease.clearance)
