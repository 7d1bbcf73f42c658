"""The gateway's settings: what is missing or wrong is named, with what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sendonce_gateway.settings import read_settings
from sendonce_store.environment import SettingsError

GIVEN = {
    "SENDONCE_DSN": "host=db dbname=sendonce password=secret",
    "SENDONCE_GATEWAY_URL": "https://notify.example.com/",
}


def test_two_variables_are_enough_and_the_password_is_not_shown() -> None:
    settings = read_settings(GIVEN)
    assert (settings.public_url, settings.port, settings.ops_port) == ("https://notify.example.com", 8080, 9090)
    assert (settings.proxies, settings.receipts_dir, settings.log_style) == (0, None, "json")
    assert "secret" not in repr(settings)


def test_everything_can_be_set() -> None:
    settings = read_settings(
        {
            **GIVEN,
            "SENDONCE_GATEWAY_PORT": "80",
            "SENDONCE_OPS_PORT": "",
            "SENDONCE_GATEWAY_PROXIES": "2",
            "SENDONCE_GATEWAY_CONNECTIONS": "3",
            "SENDONCE_GATEWAY_STORE_SECONDS": "0.5",
            "SENDONCE_GATEWAY_BODY_SECONDS": "4",
            "SENDONCE_GRACE_SECONDS": "7",
            "SENDONCE_ENQUEUE_PER_SECOND": "9",
            "SENDONCE_RECEIPTS_PER_SECOND": "8",
            "SENDONCE_RECEIPTS_DIR": "/etc/receipts",
            "SENDONCE_LOG_FORMAT": "plain",
            "SENDONCE_LOG_LEVEL": "debug",
        }
    )
    assert (settings.port, settings.ops_port, settings.proxies, settings.store_connections) == (80, None, 2, 3)
    assert (settings.store_wait, settings.body_wait, settings.grace) == (0.5, 4, 7)
    assert (settings.enqueue_per_second, settings.receipts_per_second) == (9, 8)
    assert (settings.receipts_dir, settings.log_style, settings.log_level) == (
        Path("/etc/receipts"),
        "console",
        "DEBUG",
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("SENDONCE_DSN", "", "SENDONCE_DSN is not set"),
        ("SENDONCE_GATEWAY_URL", "", "SENDONCE_GATEWAY_URL is not set"),
        (
            "SENDONCE_GATEWAY_URL",
            "http://notify.example.com",
            "SENDONCE_GATEWAY_URL: 'http://notify.example.com' is not",
        ),
        ("SENDONCE_GATEWAY_PORT", "http", "SENDONCE_GATEWAY_PORT: 'http' is not a number from 0 to 65535"),
        ("SENDONCE_GATEWAY_PROXIES", "-1", "SENDONCE_GATEWAY_PROXIES: '-1' is not a number from 0 to 10"),
        ("SENDONCE_GATEWAY_CONNECTIONS", "0", "SENDONCE_GATEWAY_CONNECTIONS: '0' is not a number from 1 to 200"),
        ("SENDONCE_LOG_LEVEL", "loud", "SENDONCE_LOG_LEVEL: 'LOUD' is unknown: use DEBUG"),
        ("SENDONCE_GATEWAY_TEXTS", "/nowhere", "SENDONCE_GATEWAY_TEXTS: /nowhere: can't be read"),
        ("SENDONCE_DSN_FILE", "/nowhere", "SENDONCE_DSN_FILE: /nowhere can't be read"),
    ],
)
def test_what_is_wrong_is_named(name: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(words)):
        read_settings({**GIVEN, name: value})


def test_the_page_of_the_docs_names_every_variable() -> None:
    root = Path(__file__).resolve().parents[3]
    read = set(re.findall(r'"(SENDONCE_\w+)"', (root / "gateway/sendonce_gateway/settings.py").read_text("utf-8")))
    told = set(re.findall(r"`(SENDONCE_\w+)`", (root / "docs/gateway.md").read_text("utf-8")))
    # of all programs alike (store/sendonce_store/environment.py), and of those with a login of their own
    shared = {"SENDONCE_DSN", "SENDONCE_DSN_FILE", "SENDONCE_LOG_FORMAT", "SENDONCE_LOG_LEVEL"}
    login = {"SENDONCE_GATEWAY_PASSWORD_FILE", "SENDONCE_STORE_ADDRESS"}
    assert read | shared | login == told
