"""What a worker refuses to begin with, before it reaches for anything."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from sendonce_store.environment import SettingsError
from sendonce_worker.settings import read_settings

NEEDED = {"SENDONCE_DSN": "postgresql:///store", "SENDONCE_NAMESPACE": "shop", "SENDONCE_SEND_KEY": "spring"}


def test_authorities_that_can_be_read_are_taken(tmp_path: Path) -> None:
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.crt")
    read_settings({**NEEDED, "SSL_CERT_FILE": str(tmp_path / "ca.crt")})


@pytest.mark.parametrize("content", [None, "no certificate", ""])
def test_authorities_that_are_missing_or_no_certificates_are_named_with_where_they_come_from(
    content: str | None, tmp_path: Path
) -> None:
    """Without this every server would look like a fraud."""
    file = tmp_path / "ca.crt"
    if content is not None:
        file.write_text(content, "ascii")
    with pytest.raises(
        SettingsError, match=r"SSL_CERT_FILE: .*ca\.crt has no certificates.*SENDONCE_WORKER_CA_CONFIGMAP"
    ):
        read_settings({**NEEDED, "SSL_CERT_FILE": str(file)})


def test_the_address_of_the_gateway_is_checked() -> None:
    assert read_settings(NEEDED).gateway_url is None
    there = read_settings({**NEEDED, "SENDONCE_GATEWAY_URL": "https://notify.example.com/"})
    assert there.gateway_url == "https://notify.example.com"
    with pytest.raises(SettingsError, match="SENDONCE_GATEWAY_URL: 'notify' is not the address of a gateway"):
        read_settings({**NEEDED, "SENDONCE_GATEWAY_URL": "notify"})
