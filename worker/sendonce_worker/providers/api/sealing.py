"""What a browser's push payload is sealed with (RFC 8291), in one record of the content coding aes128gcm (RFC 8188).

In: the plain payload and what the subscription holds. Out: the body. Each has a key pair and a salt of its own.
"""

from __future__ import annotations

import os

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_RECORD = (4096).to_bytes(4, "big")  # RFC 8291, section 4
_LAST = b"\x02"  # delimiter of the last record: RFC 8188, section 2


def seal(plain: bytes, receiver: bytes, secret: bytes) -> bytes:
    """Encrypt for a browser: `receiver` is its public key, an uncompressed point of P-256, `secret` its 16 bytes.

    Raises ValueError where the point is not on the curve.
    """
    return seal_with(plain, receiver, secret, ec.generate_private_key(ec.SECP256R1()), os.urandom(16))


def seal_with(plain: bytes, receiver: bytes, secret: bytes, key: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """Encrypt with this key pair and this salt of 16 bytes, which serve once only."""
    sender = key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    shared = key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), receiver))
    mixed = _derived(secret, shared, b"WebPush: info\0" + receiver + sender, 32)
    content_key = _derived(salt, mixed, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(salt, mixed, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(content_key).encrypt(nonce, plain + _LAST, None)
    return salt + _RECORD + bytes([len(sender)]) + sender + sealed


def _derived(salt: bytes, secret: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt, info).derive(secret)
