"""Detached signatures of files: content and a key in PEM in, the 64 bytes of Ed25519 (RFC 8032) out, and back.

The signature is over the file's bytes as they stand, with nothing around it, so that other programs check it too:
`openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in FILE -sigfile FILE.sig`.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from sendonce_cli.exits import CliError

__all__ = ["sign", "verify"]

MAKE = "`openssl genpkey -algorithm ed25519 -out signing.pem` makes one"
SHOW = "`openssl pkey -in signing.pem -pubout` prints it"


def sign(content: bytes, private_pem: bytes) -> bytes:
    """The signature. Raises CliError for anything but a private Ed25519 key that needs no password."""
    try:
        key = load_pem_private_key(private_pem, password=None)
    except TypeError:
        raise CliError("--key: the key is encrypted; decrypt it into a pipe: --key <(openssl pkey -in KEY)") from None
    except (ValueError, UnsupportedAlgorithm):
        raise CliError(f"--key: is no private key in PEM; {MAKE}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise CliError(f"--key: is a key of another kind than Ed25519; {MAKE}")
    return key.sign(content)


def verify(content: bytes, signature: bytes, public_pem: bytes) -> None:
    """Raises CliError unless the private half of this key signed this content."""
    try:
        key = load_pem_public_key(public_pem)
    except (ValueError, UnsupportedAlgorithm):
        raise CliError(f"--public-key: is no public key in PEM; {SHOW}") from None
    if not isinstance(key, Ed25519PublicKey):
        raise CliError(f"--public-key: is a key of another kind than Ed25519; {SHOW}")
    try:
        key.verify(signature, content)
    except InvalidSignature:
        raise CliError(
            "--signature: does not fit: the file was changed after it was signed, or another key signed it"
        ) from None
