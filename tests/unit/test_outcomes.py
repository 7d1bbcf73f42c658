"""What becomes of a delivery after an attempt (states and rules: docs/state_machine.md)."""

import random
from dataclasses import replace

import pytest

from sendonce_store.rows import Repeats
from sendonce_worker.providers.base import Accepted
from sendonce_worker.providers.errors import (
    AccountError,
    PermanentSendError,
    RateLimitedError,
    SendError,
    TemporarySendError,
    UnknownOutcomeError,
)
from sendonce_worker.sending.outcomes import Attempt, Backoff, Rules, accepted, counted, ended, refused_here

KEYED = Repeats(key_window=86_400, patience=32, resend=False, max_attempts=5)
UNKEYED = replace(KEYED, key_window=None)
BACKOFF = Backoff(initial=30, factor=4, longest=600, max_attempts=5)
FIRST = Attempt(no=7, seq=1, tries=0, maybe_accepted=False)
LAST = replace(FIRST, seq=5, tries=4)
RNG = random.Random(1)


def _rules(repeats: Repeats = KEYED) -> Rules:
    return Rules(BACKOFF, repeats)


def test_an_acceptance_is_sent_with_the_far_ends_id() -> None:
    result = accepted(FIRST, Accepted("m-1", "200"))
    assert (result.no, result.seq, result.state, result.message_id) == (7, 1, "sent", "m-1")


def test_a_refused_clearance_gives_the_row_back_and_burns_nothing() -> None:
    result = refused_here(FIRST)
    assert (result.state, result.used, result.unknown, result.outcome) == ("pending", 0, False, None)


def test_a_permanent_error_is_a_dead_letter_with_the_far_ends_words() -> None:
    result = ended(FIRST, PermanentSendError("5.1.1", "no such user"), _rules(), RNG)
    assert (result.state, result.reason, result.code, result.error) == (
        "failed", "permanent", "5.1.1", "no such user",
    )  # fmt: skip


def test_a_temporary_error_uses_an_attempt_and_waits() -> None:
    result = ended(FIRST, TemporarySendError("451", "greylisted"), _rules(), RNG)
    assert (result.state, result.used, result.unknown) == ("pending", 1, False)
    assert result.delay is not None
    assert 30 <= result.delay <= 60


def test_retry_after_wins_when_it_is_longer() -> None:
    result = ended(FIRST, TemporarySendError("503", "busy", retry_after=500), _rules(), RNG)
    assert result.delay == 500


def test_attempts_run_out() -> None:
    result = ended(LAST, TemporarySendError("451", "greylisted"), _rules(), RNG)
    assert (result.state, result.reason) == ("failed", "retries_exhausted")


@pytest.mark.parametrize("error", [RateLimitedError("429", "slow down", 3.0), AccountError("535", "bad password")])
@pytest.mark.parametrize("attempt", [FIRST, LAST])
def test_throttling_and_account_errors_burn_no_attempt(error: SendError, attempt: Attempt) -> None:
    result = ended(attempt, error, _rules(), RNG)
    assert (result.state, result.used) == ("pending", 0)


@pytest.mark.parametrize("code", ["connect_failed", "name_not_resolved", "tls_failed"])
@pytest.mark.parametrize("attempt", [FIRST, LAST])
def test_a_far_end_that_cannot_be_reached_burns_no_attempt(code: str, attempt: Attempt) -> None:
    result = ended(attempt, TemporarySendError(code, "refused"), _rules(), RNG)
    assert (result.state, result.used, result.unknown, result.outcome) == ("pending", 0, False, "outage")


def test_an_unknown_outcome_is_repeated_with_a_key() -> None:
    result = ended(FIRST, UnknownOutcomeError("timeout", "no answer"), _rules(), RNG)
    assert (result.state, result.unknown, result.used) == ("pending", True, 1)


def test_an_unknown_outcome_without_a_key_is_held() -> None:
    result = ended(FIRST, UnknownOutcomeError("timeout", "no answer"), _rules(UNKEYED), RNG)
    assert (result.state, result.reason, result.unknown) == ("uncertain", "unknown_outcome", True)


def test_an_unknown_outcome_under_resend_waits_until_the_first_attempt_must_be_over() -> None:
    quick = Rules(replace(BACKOFF, initial=1, longest=1), replace(UNKEYED, resend=True))
    result = ended(FIRST, UnknownOutcomeError("timeout", "no answer"), quick, RNG)
    assert result.state == "pending"
    assert result.delay is not None
    assert result.delay >= 32


@pytest.mark.parametrize("repeats", [KEYED, UNKEYED, replace(UNKEYED, resend=True)])
def test_unknown_outcomes_never_end_as_failed(repeats: Repeats) -> None:
    result = ended(LAST, UnknownOutcomeError("timeout", "no answer"), _rules(repeats), RNG)
    assert result.state == "uncertain"


@pytest.mark.parametrize("error", [PermanentSendError("5.1.1", "no such user"), TemporarySendError("451", "later")])
def test_after_an_unknown_attempt_a_refusal_is_no_proof_of_not_sent(error: SendError) -> None:
    result = ended(replace(LAST, maybe_accepted=True), error, _rules(), RNG)
    assert result.state == "uncertain"


@pytest.mark.parametrize(("tries", "base"), [(0, 30), (1, 120), (2, 480), (3, 600), (4, 600), (10_000, 600)])
def test_delays_grow_are_capped_and_have_as_much_jitter_again(tries: int, base: float) -> None:
    delays = [BACKOFF.delay(tries, RNG) for _ in range(2000)]
    assert min(delays) >= base
    assert max(delays) <= 2 * base
    assert max(delays) > 1.9 * base
    assert min(delays) < 1.1 * base


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (RateLimitedError("429", ""), "rate_limited"),
        (TemporarySendError("451", ""), "retry"),
        (PermanentSendError("550", ""), "failed"),
    ],
)
def test_what_comes_back_is_counted_apart_from_what_is_final(error: SendError, outcome: str) -> None:
    assert counted(ended(FIRST, error, _rules(), RNG)) == outcome
