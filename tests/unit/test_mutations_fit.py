"""The mutants that take the rules out of the code still fit the code, and docs/rules.md shows them all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.mutations import mutants, program
else:
    ROOT = Path(__file__).resolve().parents[2]
    sys.path.insert(0, str(ROOT))
    from tests.mutations import mutants, program

    sys.path.remove(str(ROOT))


@pytest.mark.parametrize("mutant", mutants.MUTANTS, ids=lambda mutant: f"{mutant.rule}: {mutant.name}")
def test_the_place_of_a_mutant_is_there_exactly_once(mutant: mutants.Mutant) -> None:
    text = (program.ROOT / mutant.path).read_text("utf-8")
    assert program.replaced(text, mutant) != text


def test_each_of_the_fifteen_rules_has_tests_and_a_mutant() -> None:
    assert [rule.key for rule in mutants.RULES] == [str(number) for number in range(1, 16)]
    for rule in (*mutants.RULES, *mutants.PARTS):
        assert any(mutant.rule == rule.key for mutant in mutants.MUTANTS), rule
        for test in rule.tests.split():
            assert (program.ROOT / test).is_file(), test


def test_the_table_in_the_documentation_is_that_of_the_mutants() -> None:
    assert program.table() in (program.ROOT / "docs" / "rules.md").read_text("utf-8")
