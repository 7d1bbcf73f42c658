"""The setting that lets the operator make logins."""

from __future__ import annotations

import pytest

from sendonce_operator.settings import read_settings
from sendonce_store.environment import SettingsError

NEEDED = {"SENDONCE_DSN": "postgresql:///store", "SENDONCE_WORKER_IMAGE": "worker:1"}


def test_without_an_address_logins_are_left_to_people() -> None:
    assert read_settings(NEEDED).store_address is None
    assert read_settings({**NEEDED, "SENDONCE_STORE_ADDRESS": ""}).store_address is None


def test_an_address_is_taken_as_it_is() -> None:
    address = "postgresql://db.example:5432/store"
    assert read_settings({**NEEDED, "SENDONCE_STORE_ADDRESS": address}).store_address == address


@pytest.mark.parametrize("address", ["postgresql://db.example", "postgresql://[", "nonsense"])
def test_an_address_that_names_no_database_is_refused_with_what_would_be_right(address: str) -> None:
    with pytest.raises(SettingsError, match=r"SENDONCE_STORE_ADDRESS: .*postgresql://host:5432/database"):
        read_settings({**NEEDED, "SENDONCE_STORE_ADDRESS": address})
