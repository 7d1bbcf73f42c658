"""Rate limits: a burst, then a rate, in memory that never grows."""

from __future__ import annotations

import sys

from sendonce_store.rate_limits import RateLimiter


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_passes_then_one_by_one() -> None:
    clock = Clock()
    limiter = RateLimiter(rate=2, burst=3, clock=clock)
    assert [limiter.take("a") for _ in range(3)] == [0, 0, 0]
    wait = limiter.take("a")
    assert 0 < wait <= 0.5
    clock.now += wait
    assert limiter.take("a") == 0
    assert limiter.take("a") > 0


def test_in_the_long_run_the_rate_holds_and_what_is_refused_uses_nothing_up() -> None:
    clock = Clock()
    limiter = RateLimiter(rate=5, burst=10, clock=clock)
    passed = 0
    for _ in range(10_000):
        passed += limiter.take("a") == 0
        clock.now += 0.01
    assert 5 * 100 <= passed <= 5 * 100 + 10


def test_who_only_asks_uses_nothing_up() -> None:
    limiter = RateLimiter(rate=1, burst=1, clock=Clock())
    assert [limiter.wait("a") for _ in range(5)] == [0] * 5
    assert limiter.take("a") == 0
    assert limiter.wait("a") == 1


def test_others_are_not_held_up() -> None:
    limiter = RateLimiter(rate=1, burst=1, clock=Clock())
    assert limiter.take("a") == 0
    assert limiter.take("a") > 0
    # two of these may share a slot with each other or with "a", whatever the hashes of this process are
    assert sum(limiter.take(f"client {no}") == 0 for no in range(20)) >= 18


def test_a_flood_of_made_up_keys_takes_no_memory() -> None:
    limiter = RateLimiter(rate=1, burst=1, slots=64)
    before = sys.getsizeof(limiter._used_until)  # noqa: SLF001 - what the promise is about
    for no in range(10_000):
        limiter.take(no)
    assert sys.getsizeof(limiter._used_until) == before  # noqa: SLF001
