"""Signatures over files: what is signed is checked here and by openssl, and nothing else passes."""

import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from sendonce_cli.exits import CliError
from sendonce_cli.signing import sign, verify

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
CURVE = generate_private_key(SECP256R1())
PKCS8 = (Encoding.PEM, PrivateFormat.PKCS8)
PUBLIC = (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
PEM = KEY.private_bytes(*PKCS8, NoEncryption())
PUBLIC_PEM = KEY.public_key().public_bytes(*PUBLIC)


def test_a_signature_fits_its_content_and_its_key_alone() -> None:
    signature = sign(b"content", PEM)
    verify(b"content", signature, PUBLIC_PEM)
    for content, wrong, key in [
        (b"contents", signature, PUBLIC_PEM),
        (b"content", signature[:-1], PUBLIC_PEM),
        (b"content", b"", PUBLIC_PEM),
        (b"content", signature, OTHER.public_key().public_bytes(*PUBLIC)),
    ]:
        with pytest.raises(CliError, match="does not fit"):
            verify(content, wrong, key)


@pytest.mark.parametrize(
    ("pem", "complaint"),
    [
        (b"", "no private key in PEM; `openssl genpkey"),
        (PUBLIC_PEM, "no private key in PEM"),
        (CURVE.private_bytes(*PKCS8, NoEncryption()), "another kind than Ed25519"),
        (KEY.private_bytes(*PKCS8, BestAvailableEncryption(b"x")), "is encrypted"),
    ],
)
def test_a_key_that_can_not_sign_is_refused_with_the_cure(pem: bytes, complaint: str) -> None:
    with pytest.raises(CliError, match=complaint):
        sign(b"content", pem)


@pytest.mark.parametrize(
    ("pem", "complaint"),
    [(PEM, "no public key in PEM"), (CURVE.public_key().public_bytes(*PUBLIC), "another kind than Ed25519")],
)
def test_a_key_that_can_not_check_is_refused_with_the_cure(pem: bytes, complaint: str) -> None:
    with pytest.raises(CliError, match=complaint):
        verify(b"content", b"", pem)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_checks_it_too(tmp_path: Path) -> None:
    for name, content in {"file": b"content", "sig": sign(b"content", PEM), "pub": PUBLIC_PEM}.items():
        (tmp_path / name).write_bytes(content)
    order = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "pub", "-rawin", "-in", "file", "-sigfile", "sig"]
    done = subprocess.run(order, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
