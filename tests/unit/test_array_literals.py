"""Array literals are read back as what they were made of; PostgreSQL is asked in tests/integration."""

import pytest

from sendonce_store.array_literals import numbers, octets, texts, words


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (numbers([]), "{}"),
        (numbers([1, None, 2.5]), "{1,NULL,2.5}"),
        (numbers([True, False]), "{True,False}"),
        (words(["sent", "pending"]), "{sent,pending}"),
        (texts([None, "a"]), '{NULL,"a"}'),
        (texts(["", "NULL", "a,b", "{}"]), '{"","NULL","a,b","{}"}'),
        (texts(['say "x"', "back\\slash", '\\"']), '{"say \\"x\\"","back\\\\slash","\\\\\\""}'),
        (octets([b"\x00\xff", b""]), '{"\\\\x00ff","\\\\x"}'),
    ],
)
def test_literals_follow_the_manual(literal: str, expected: str) -> None:
    assert literal == expected
