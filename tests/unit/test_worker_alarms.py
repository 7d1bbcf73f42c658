"""What a worker says of an answer that concerns everybody: what it did, and not what it could not do."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sendonce_worker.alarms import StoreAlarms
from sendonce_worker.link import Link
from sendonce_worker.metrics import ProviderSeries
from sendonce_worker.providers.errors import AccountError

# nobody listens there
AWAY = "postgresql://127.0.0.1:1/none"


async def test_a_campaign_that_could_not_be_stopped_is_not_said_to_be_stopped(caplog: pytest.LogCaptureFixture) -> None:
    plan: Any = SimpleNamespace(channel="Email", provider_series=ProviderSeries("shop", "smtp"))
    await StoreAlarms(Link(AWAY, "test"), 1).account_problem(plan, AccountError("535", "bad password"))
    (said,) = caplog.records
    assert said.levelname == "WARNING"
    assert said.getMessage().startswith(
        "could not stop the campaign for CredentialsRejected: Email over smtp: 535: bad password: database none"
    )
