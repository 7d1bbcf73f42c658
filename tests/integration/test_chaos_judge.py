"""The judge of the chaos runs must be able to say no: each of its rules, over a run whose evidence was doctored."""

import pytest
from tests.chaos.judge import RULES, judge
from tests.chaos.specimen import DOCTORED, Spoil, sound


def test_a_run_that_went_well_is_not_blamed() -> None:
    assert judge(sound()) == []


@pytest.mark.parametrize(("rule", "deed", "spoil"), DOCTORED, ids=[f"{rule}: {deed}" for rule, deed, _ in DOCTORED])
def test_evidence_that_breaks_a_rule_is_found_by_that_rule(rule: str, deed: str, spoil: Spoil) -> None:
    assert rule in {violation.rule for violation in judge(spoil(sound()))}, deed


def test_every_rule_of_the_judge_has_evidence_that_it_must_find() -> None:
    ours = {rule.__name__.replace("hand_offs", "hand-offs").replace("_", " ") for rule in RULES}

    assert ours == {rule for rule, _, _ in DOCTORED}
