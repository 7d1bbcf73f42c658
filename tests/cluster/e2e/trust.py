"""A certificate authority of the tests' own, and a certificate for the far ends whose real names Pods look up.

In: a folder and names. Out: the authority's certificate, which every namespace gets as a ConfigMap for its workers (the
operator's setting SENDONCE_WORKER_CA_CONFIGMAP), and a file with certificate and key for whoever plays a far end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme

CONFIG_MAP = "sendonce-ca"
# what providers and documents name; the cluster's name server leads all of them to this machine
NAMES = (
    "api.line.me",
    "api.postmarkapp.com",
    "api.twilio.com",
    "fcm.googleapis.com",
    "files.example.com",
    "oauth2.googleapis.com",
    "smtp.example.com",
)


@dataclass(frozen=True)
class Trust:
    """`authority` is a certificate in PEM; `chain` a file with the far ends' certificate and its key."""

    authority: str
    chain: Path


def make(folder: Path) -> Trust:
    """Make an authority and one certificate for all the names."""
    authority = trustme.CA()
    chain = folder / "far-ends.pem"
    authority.issue_cert(*NAMES).private_key_and_cert_chain_pem.write_to_path(chain)
    return Trust(authority.cert_pem.bytes().decode("ascii"), chain)
