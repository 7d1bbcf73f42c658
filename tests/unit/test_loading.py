"""What the collector does while a program is loaded."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from sendonce_store import loading


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
    yield
    gc.enable()
    gc.unfreeze()


def test_the_collector_is_away_while_a_program_is_loaded_and_leaves_what_was_loaded_alone() -> None:
    loading.begin()
    assert not gc.isenabled()
    loading.end()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1000


def test_an_end_without_a_begin_sets_nothing_aside() -> None:
    loading.end()
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
