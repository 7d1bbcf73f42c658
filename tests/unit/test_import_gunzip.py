"""Gzip data of an import, expanded piece by piece."""

import gzip
import random
import tracemalloc
import zlib

import pytest

from sendonce_worker.importing import SourceUnreadableError
from sendonce_worker.importing.gunzip import PIECE, Gunzip

TEXT = b"".join(b"p%d@example.com\n" % number for number in range(100_000))


def expand(data: bytes, size: int = 65_536) -> bytes:
    gunzip, out = Gunzip("spec.recipients.http.url"), list[bytes]()
    for start in range(0, len(data), size):
        out += gunzip.feed(data[start : start + size])
    gunzip.finish()
    return b"".join(out)


@pytest.mark.parametrize("size", [1, 1000, 65_536, 10_000_000])
def test_text_comes_out_whole_however_the_data_is_cut(size: int) -> None:
    text = TEXT if size > 1 else TEXT[:20_000]
    assert expand(gzip.compress(text), size) == text


@pytest.mark.parametrize("size", [1, 7, 10_000_000])
def test_several_members_and_padding_behind_them_are_read(size: int) -> None:
    data = gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n") + b"\x00" * 512
    assert expand(data, size) == b"one\ntwo\n"


def test_noise_that_does_not_compress_comes_out_whole() -> None:
    noise = random.Random(1).randbytes(3 * PIECE)
    assert expand(gzip.compress(noise)) == noise


@pytest.mark.parametrize("cut", [1, 9, 5000, -1, -8])
def test_truncated_data_is_refused(cut: int) -> None:
    with pytest.raises(SourceUnreadableError, match="the gzip data ends too early"):
        expand(gzip.compress(TEXT)[:cut])


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty, where gzip data was expected"),
        (b"email,name\n", "is not gzip data; set compression: None"),
        (b"<html><body>Sign in", "is an HTML or XML page"),
        (gzip.compress(b"x", mtime=0) + b"rest", "the gzip data is damaged"),
        (zlib.compress(TEXT), "is not gzip data"),
    ],
)
def test_other_data_says_what_it_is(data: bytes, problem: str) -> None:
    with pytest.raises(SourceUnreadableError, match=problem):
        expand(data)


def test_damaged_data_is_refused() -> None:
    data = bytearray(gzip.compress(TEXT))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(SourceUnreadableError, match="the gzip data is damaged"):
        expand(bytes(data))


def test_a_bomb_of_a_gigabyte_takes_no_memory() -> None:
    member = gzip.compress(b"\x00" * (64 * 1024 * 1024))
    gunzip, total = Gunzip("spec.recipients.http.url"), 0
    tracemalloc.start()
    try:
        for _ in range(16):
            for piece in gunzip.feed(member):
                total += len(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total == 1024 * 1024 * 1024
    assert peak < 4 * PIECE
