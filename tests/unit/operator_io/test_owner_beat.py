"""How often an operator says that the owners of campaigns live."""

from __future__ import annotations

import pytest

from sendonce_operator.settings import read_settings

REQUIRED = {"SENDONCE_DSN": "postgresql:///x", "SENDONCE_WORKER_IMAGE": "worker:1"}


@pytest.mark.parametrize(("silence", "beat"), [("5", 1.25), ("60", 15.0), ("90", 20.0), ("3600", 20.0)])
def test_an_owner_is_said_to_live_several_times_before_it_would_count_as_gone(silence: str, beat: float) -> None:
    assert read_settings({**REQUIRED, "SENDONCE_OWNER_SECONDS": silence}).owner_beat == beat
