"""A stream of bytes as blocks: wherever it is cut and wherever it resumes, the records are the same."""

import hashlib
import json
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sendonce_store.recipients import Position, Recipient, Rejected
from sendonce_store.spec.recipients import RecipientFormat
from sendonce_worker.importing import Block
from sendonce_worker.importing.errors import ContentChangedError
from sendonce_worker.importing.records import BLOCK_ROWS
from sendonce_worker.importing.stream import Layout, StreamImport

CSV, NDJSON = RecipientFormat.CSV, RecipientFormat.NDJSON
MIB = 1024 * 1024


def start(kind: RecipientFormat, position: Position | None = None) -> StreamImport:
    return StreamImport(Layout(kind, frozenset({"Email"}), "spec.recipients.http.url"), position, lambda: '"v1"')


def run(data: bytes, kind: RecipientFormat, sizes: list[int], position: Position | None = None) -> list[Block]:
    stream, blocks, at = start(kind, position), list[Block](), 0
    for size in sizes:
        blocks += stream.feed(data[at : at + size])
        at += size
    return [*blocks, *stream.feed(data[at:]), *stream.finish()]


def records(blocks: list[Block]) -> list[Recipient | Rejected]:
    found: list[Recipient | Rejected] = []
    for block in blocks:
        found += [*block.recipients, *block.rejected]
    return sorted(found, key=lambda record: record.line)


def awkward_csv() -> bytes:
    """About 2 MiB with everything that makes the end of a record hard to see."""
    parts = [b"\xef\xbb\xbfemail,note\r\n"]
    for number in range(3600):
        parts.append(f"p{number}@example.com,{'x' * 30}\n".encode())
        if number % 1500 == 3:
            parts.append(b'q@example.com,"two\nlines, and ""quotes"""\n')
        if number % 1500 == 5:
            parts.append(b'open@example.com,"never closed\n')
        if number % 3000 == 7:
            parts.append(b'long@example.com,"' + (b"y" * 999 + b"\n") * 200 + b'"\n')
        if number == 2000:
            parts.append(b'toolong@example.com,"' + (b"y" * 999 + b"\n") * 300 + b'"\n')
        if number % 3000 == 8:
            parts.append(b"huge@example.com," + b"z" * 600_000 + b"\n")
        if number % 1000 == 9:
            parts.append(b"bad\xff@example.com,x\n\n")
    return b"".join(parts)


NOT_CLOSED = "opens a quote that is not closed within 256 KiB"
AWKWARD = awkward_csv()
WHOLE = records(run(AWKWARD, CSV, []))


def test_the_awkward_list_has_what_it_should_have() -> None:
    good = [record for record in WHOLE if isinstance(record, Recipient)]
    reasons = {record.reason for record in WHOLE if isinstance(record, Rejected)}
    assert len(good) == 3600 + 3 + 2
    assert reasons >= {"is longer than 256 KiB", "is not valid UTF-8", NOT_CLOSED}


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from([1, 17, 4096, 65_536, 262_144, 700_001]), max_size=40))
def test_records_do_not_depend_on_how_the_bytes_arrive(sizes: list[int]) -> None:
    assert records(run(AWKWARD, CSV, sizes)) == WHOLE


@pytest.mark.parametrize("first_sizes", [[], [100_000] * 25, [524_289] * 6])
def test_an_import_may_resume_behind_every_block(first_sizes: list[int]) -> None:
    blocks = run(AWKWARD, CSV, first_sizes)
    assert len(blocks) > 5
    for number, block in enumerate(blocks, 1):
        rest = run(AWKWARD, CSV, [333_333] * 8, block.position)
        assert records(blocks[:number]) + records(rest) == WHOLE
        assert [block.position for block in rest][-1:] == [block.position for block in blocks[number:]][-1:]
    assert run(AWKWARD, CSV, [], blocks[-1].position) == []


def test_a_quote_left_open_before_a_line_that_is_too_long_costs_its_own_line() -> None:
    data = b'email,note\na@example.com,"open\nb@example.com,x\n' + b"z" * 600_000 + b'\nc@example.com,"y"\n'
    blocks = run(data, CSV, [])
    assert [(record.line, type(record).__name__) for record in records(blocks)] == [
        (2, "Rejected"),
        (3, "Recipient"),
        (4, "Rejected"),
        (5, "Recipient"),
    ]
    for block in blocks:
        assert block.position.digest == hashlib.sha256(data[: block.position.offset]).hexdigest()
    assert blocks[-1].position.offset == len(data)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["a@example.com,x", 'b@example.com,"x', 'y",z', '"",""', "", "no,x", '"q', "\r", " "])),
    st.integers(0, 200),
)
def test_any_mixture_of_quotes_reads_alike_in_one_piece_and_in_two(lines: list[str], at: int) -> None:
    data = "\n".join(["email,note", *lines]).encode()
    blocks = run(data, CSV, [at])
    assert records(blocks) == records(run(data, CSV, []))
    taken = sum(block.lines for block in blocks)
    assert taken == len(records(blocks))


def test_a_position_names_the_line_the_bytes_and_their_hash() -> None:
    data = b"".join(b'{"email":"p%d@example.com"}\n' % number for number in range(2 * BLOCK_ROWS))
    first, second = run(data, NDJSON, [])
    end = data.index(b"p%d@" % BLOCK_ROWS) - len(b'{"email":"')
    assert first.position == Position(BLOCK_ROWS, end, hashlib.sha256(data[:end]).hexdigest(), '"v1"')
    assert second.position == Position(2 * BLOCK_ROWS, len(data), hashlib.sha256(data).hexdigest(), '"v1"')


def test_a_source_with_another_beginning_is_not_resumed() -> None:
    data = b"".join(b'{"email":"p%d@example.com"}\n' % number for number in range(6000))
    position = run(data, NDJSON, [])[0].position
    with pytest.raises(ContentChangedError, match="reads otherwise now"):
        run(data.replace(b"p17@", b"q17@"), NDJSON, [], position)


def test_a_source_that_became_shorter_is_not_resumed() -> None:
    data = b"".join(b'{"email":"p%d@example.com"}\n' % number for number in range(6000))
    position = run(data, NDJSON, [])[-1].position
    with pytest.raises(ContentChangedError, match="shorter"):
        run(data[:-1], NDJSON, [], position)


def test_a_source_that_only_grew_is_read_on() -> None:
    data = b'{"email":"a@example.com"}\n'
    position = run(data, NDJSON, [])[-1].position
    (block,) = run(data + b'{"email":"b@example.com"}\n', NDJSON, [], position)
    assert [recipient.line for recipient in block.recipients] == [2]


def rows(count: int, kind: RecipientFormat) -> Iterator[bytes]:
    people = [(number, f"person{number}@example{number % 97}.com", "Ann", "Kyoto") for number in range(1000)]
    if kind is CSV:
        yield b"id,email,name,city\n"
        piece = "".join(f"{number},{email},{name},{city}\n" for number, email, name, city in people)
    else:
        piece = "".join(json.dumps({"email": e, "name": name, "city": city}) + "\n" for _, e, name, city in people)
    # encoded anew each time, as the network would hand it over
    yield from (piece.encode() for _ in range(count // 1000))


def peak_of(pieces: Iterator[bytes], kind: RecipientFormat) -> tuple[int, int]:
    """Records read, and the peak of memory in bytes."""
    stream, taken = start(kind), 0
    tracemalloc.start()
    try:
        for piece in pieces:
            for block in stream.feed(piece):
                taken += block.lines
        taken += sum(block.lines for block in stream.finish())
        return taken, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "count"), [(CSV, 300_000), (NDJSON, 100_000)])
def test_memory_does_not_grow_with_the_number_of_rows(kind: RecipientFormat, count: int) -> None:
    few, small = peak_of(rows(20_000, kind), kind)
    many, large = peak_of(rows(count, kind), kind)
    assert (few, many) == (20_000, count)
    assert large < small * 1.15
    assert large < 16 * MIB


@pytest.mark.parametrize("kind", [CSV, NDJSON])
def test_a_line_of_a_hundred_megabytes_is_refused_without_being_held(kind: RecipientFormat) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"email,name\n" if kind is CSV else b"\n"
        yield b'{"email":"' if kind is NDJSON else b"x"
        for _ in range(100):
            yield b"x" * MIB
        yield b"\nann@example.com,Ann\n" if kind is CSV else b'\n{"email":"ann@example.com"}\n'

    taken, peak = peak_of(pieces(), kind)
    assert taken == 2
    assert peak < 8 * MIB
