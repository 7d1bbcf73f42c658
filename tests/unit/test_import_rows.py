"""A chunk before it meets the store: who is in it, once, and in what bytes."""

from __future__ import annotations

import hashlib
import struct

from sendonce_store.import_rows import BATCH_SIZE, Fate, Plan, Target, batch_rows, cut, key_prefix
from sendonce_store.recipients import Address, Recipient, Rejected

EMAIL = Target("Email", 1, None, key_prefix("store", "ns", "spring", "Email"))
SMS = Target("SMS", 2, None, key_prefix("store", "ns", "spring", "SMS"))
INSTEAD = Target("SMS", 2, "Email", key_prefix("store", "ns", "spring", "SMS"))


def person(line: int, **addresses: str) -> Recipient:
    return Recipient(line, None, {c: Address(a, a.lower()) for c, a in addresses.items()}, None, None, {})


def chunk_of(*people: Recipient, targets: tuple[Target, ...] = (EMAIL, SMS)) -> list[list[str]]:
    chunk = Plan(7, "ns", targets).chunk(people, (), {})
    return [list(rows) for _, rows in chunk.deliveries] + [[str(line) for line in chunk.people]]


def test_of_two_lines_for_one_address_the_first_counts_on_each_channel_by_itself() -> None:
    first = person(1, Email="a@example.com", SMS="+1")
    assert chunk_of(first, person(2, Email="A@example.com", SMS="+2"), person(3, Email="a@example.com", SMS="+1")) == [
        ["a@example.com"],
        ["+1", "+2"],
        ["1", "2"],
    ]


def test_a_fallback_is_for_those_without_an_address_for_the_channel_before() -> None:
    both, one, none = person(1, Email="a@example.com", SMS="+1"), person(2, SMS="+2"), person(3)
    assert chunk_of(both, one, none, targets=(EMAIL, INSTEAD)) == [["a@example.com"], ["+2"], ["1", "2", "3"]]


def test_whom_the_store_knows_is_left_out_and_whoever_is_left_with_nothing_goes() -> None:
    people = [person(1, Email="a@example.com", SMS="+1"), person(2, Email="b@example.com"), person(3)]
    whole = Plan(7, "ns", (EMAIL, SMS)).chunk(people, [Rejected(4, "row", "no", "")], {"line": 4})
    rest = whole.without([{"a@example.com", "b@example.com"}, set()])
    assert [list(rows) for _, rows in rest.deliveries] == [[], ["+1"]]
    assert list(rest.people) == [1, 3]
    assert (rest.taken, len(rest.unreachable), rest.lines, rest.cursor) == (3, 1, 4, {"line": 4})
    assert list(whole.people) == [1, 2, 3]  # a second look begins with all of them


def test_a_block_more_moves_the_cursor_and_knows_who_was_there() -> None:
    chunk = Plan(7, "ns", (EMAIL,)).chunk([person(1, Email="a@example.com")], (), {"line": 1})
    chunk.add([person(2, Email="a@example.com")], [Rejected(3, "row", "no", "")], {"line": 3})
    assert (list(chunk.people), chunk.taken, chunk.lines, chunk.cursor) == ([1], 2, 3, {"line": 3})


def test_the_rows_of_a_batch_are_numbered_from_one_and_carry_the_key() -> None:
    people = [person(line, Email=f"p{line}@example.com") for line in range(1, BATCH_SIZE + 3)]
    plan = Plan(7, "ns", (EMAIL,))
    first, second = cut(plan.chunk(people, (), {}).deliveries[0][1].values())
    assert (len(first), len(second)) == (BATCH_SIZE, 2)
    data = batch_rows(plan, EMAIL, Fate(cancelled=False, now=5), 99, second)
    key = hashlib.sha256(f"store\x1fns\x1fspring\x1fEmail\x1fp{BATCH_SIZE + 1}@example.com".encode()).digest()[:16]
    tail = struct.pack(">iqii", 8, 99, 4, 1) + struct.pack(">iqi", 8, BATCH_SIZE + 1, 16) + key
    assert data.startswith(struct.pack(">hiq", 12, 8, 7))
    assert tail in data
    assert struct.pack(">iqii", 8, 99, 4, 2) in data
