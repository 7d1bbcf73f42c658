"""Recipients from Parquet files: whole, resumed, with every type of column, damaged and made to do harm."""

import asyncio
import random
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import psutil
import pytest
from arro3.core import DataType, Field, Schema
from tests.sources.encrypted_parquet import ENCRYPTED_COLUMN, ENCRYPTED_FOOTER
from tests.sources.parquet_files import Values, integers, nested, parquet, people, texts, written

from sendonce_store.recipients import Position, Recipient, Rejected
from sendonce_store.spec.recipients import PARQUET_BYTES, Recipients
from sendonce_worker.importing import (
    Block,
    Files,
    MissingColumnError,
    SourceChangedError,
    SourceUnreadableError,
    open_import,
)
from sendonce_worker.importing.parquet_file import fetched

FIELD = "spec.recipients.configMapKeyRef"
ANN = ["ann@example.com"]
MIB = 1024 * 1024


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def mount(files: Files, body: bytes, kind: str = "configmaps") -> None:
    folder = files.root / kind / "readers"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r.parquet").write_bytes(body)


def spec(source: str = "configMapKeyRef", format_: str = "Parquet") -> Recipients:
    return Recipients.from_wire({source: {"name": "readers", "key": "r.parquet"}, "format": format_})


async def read(files: Files, position: Position | None = None, recipients: Recipients | None = None) -> list[Block]:
    async with aclosing(open_import(recipients or spec(), ["Email", "SMS"], files, position)) as blocks:
        return [block async for block in blocks]


async def only(files: Files, **columns: Values) -> Recipient:
    mount(files, parquet({"email": ANN} | columns))
    (block,) = await read(files)
    (recipient,) = block.recipients
    return recipient


async def refusal(files: Files, body: bytes, recipients: Recipients | None = None) -> SourceUnreadableError:
    mount(files, body, "secrets" if recipients and recipients.secret_key_ref else "configmaps")
    with pytest.raises(SourceUnreadableError) as caught:
        await read(files, None, recipients)
    return caught.value


def people_of(blocks: list[Block]) -> list[Recipient]:
    return [recipient for block in blocks for recipient in block.recipients]


@pytest.mark.parametrize("rows_in_group", [100_000, 7_000])
async def test_a_file_comes_in_blocks_and_resumes_behind_each(files: Files, rows_in_group: int) -> None:
    mount(files, people(12_345, max_row_group_size=rows_in_group, compression="zstd(3)"))
    blocks = await read(files)
    everybody = people_of(blocks)
    assert [recipient.line for recipient in everybody] == list(range(1, 12_346))
    assert everybody[-1].addresses["Email"].original == "p12344@example.com"
    assert everybody[-1].variables == {"name": "Person 12344"}
    for number in (1, 7, 8, 57, len(blocks)):
        rest = await read(files, blocks[number - 1].position)
        assert people_of(blocks[:number]) + people_of(rest) == everybody
        assert [block.position for block in rest[-1:]] == [block.position for block in blocks[number:][-1:]]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (["Ann"], "Ann"),
        ([None], None),
        (texts(["Ann"], DataType.large_utf8()), "Ann"),
        (texts(["Ann"], DataType.string_view()), "Ann"),
        (texts(["Ann"], DataType.dictionary(DataType.int32(), DataType.utf8())), "Ann"),
        (integers([7]), 7),
        (integers([7], DataType.uint8()), 7),
        (integers([None]), None),
        (texts(["1.5"], DataType.float64()), 1.5),
        (texts(["NaN"], DataType.float32()), "nan"),
        (texts(["1.50"], DataType.decimal128(9, 2)), 1.5),
        (texts(["12345678901234567890123"], DataType.decimal128(38, 0)), 12345678901234567890123),
        (texts(["true"], DataType.bool()), True),
        (texts(["2026-03-01"], DataType.date32()), "2026-03-01"),
        (texts(["2026-03-01T08:30:00"], DataType.timestamp("us")), "2026-03-01T08:30:00"),
        (texts(["2026-03-01T08:30:00Z"], DataType.timestamp("ns", tz="UTC")), "2026-03-01T08:30:00+00:00"),
        (texts(["08:30:00"], DataType.time64("us")), "08:30:00"),
    ],
)
async def test_a_column_becomes_a_variable_of_its_type(files: Files, column: Values, value: object) -> None:
    assert (await only(files, it=column)).variables == {"it": value}


async def test_reserved_columns_are_found_whatever_their_case_and_an_id_may_be_a_number(files: Files) -> None:
    ann = await only(files, ID=integers([17]), TimeZone=["asia/tokyo"], Locale=["ja-JP"], phone=["+15005550006"])
    assert (ann.ref, ann.timezone, ann.locale, ann.variables) == ("17", "Asia/Tokyo", "ja-JP", {})
    assert ann.addresses["SMS"].original == "+15005550006"


async def test_a_bad_row_is_refused_alone(files: Files) -> None:
    columns: dict[str, Values] = {
        "email": ["ann@example.com", "nobody", "cy@example.com", "di@example.com", None],
        "note": ["a", "b", "a\x00b", "x" * (256 * 1024), ""],
    }
    mount(files, parquet(columns))
    (block,) = await read(files)
    assert [(one.line, one.field, one.reason.split(" (")[0]) for one in sorted(block.rejected, key=by_line)] == [
        (2, "email", "is not a valid email address, such as ann@example.com"),
        (3, "note", "contains a NUL character"),
        (4, "row", "is longer than 256 KiB"),
    ]
    assert [(one.line, list(one.addresses)) for one in block.recipients] == [(1, ["Email"]), (5, [])]
    assert (block.lines, block.position.line) == (5, 5)


async def test_a_year_that_nobody_can_write_is_refused_alone(files: Files) -> None:
    mount(files, parquet({"email": ANN * 3, "at": integers([0, 2**61, None], DataType.timestamp("us"))}))
    (block,) = await read(files)
    assert [(one.line, one.field, one.reason) for one in block.rejected] == [
        (2, "at", "is a date or time outside of the years 1 to 9999")
    ]
    assert [one.variables for one in block.recipients] == [{"at": "1970-01-01T00:00:00"}, {"at": None}]


def by_line(rejected: Rejected) -> int:
    return rejected.line


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"email": integers([1])}, "its column email holds Int64 values, where email is text: write the column as str"),
        ({"email": ANN, "phone": integers([15005550006])}, "column phone holds Int64 values, where phone is text"),
        ({"email": ANN, "id": texts(["1"], DataType.float64())}, "id holds Float64 values, where an id is text or an"),
        ({"email": ANN, "timezone": integers([1])}, "column timezone holds Int64 values, where timezone is text"),
        ({"email": ANN, "tags": nested(["a"])}, "column tags holds Struct.* of which no variable can be made: leave"),
        ({"email": ANN, "key": texts(["a"], DataType.binary())}, "column key holds Binary values, of which no"),
        ({"email": ANN, "Email": ANN}, "its columns cannot be used: column email is there twice"),
    ],
)
async def test_a_column_of_another_type_is_named_with_the_cure(
    files: Files, columns: dict[str, Values], problem: str
) -> None:
    error = await refusal(files, parquet(columns))
    assert error.field == FIELD
    assert not error.temporary
    with pytest.raises(SourceUnreadableError, match=problem):
        raise error


async def test_a_column_without_a_value_may_be_of_no_type_at_all(files: Files) -> None:
    fields = [Field(name, DataType.null()) for name in ("email", "phone", "note")]
    mount(files, written(Schema(fields).empty_table()))
    assert await read(files) == []


async def test_a_file_without_an_address_column_names_what_it_has(files: Files) -> None:
    mount(files, parquet({"mail": ANN, "name": ["Ann"]}))
    with pytest.raises(MissingColumnError, match=r"has no column email or phone, .* found: mail, name"):
        await read(files)


async def test_a_file_without_rows_is_a_list_of_nobody(files: Files) -> None:
    mount(files, people(0))
    assert await read(files) == []


WHOLE = people(300)
BAD = [
    (b"", "is empty, where a Parquet file was expected"),
    (b"email,name\nann@example.com,Ann\n", "is not a Parquet file; if it is text, set format: CSV or NDJSON"),
    (b"<!DOCTYPE html><html>", "is an HTML or XML page, perhaps of a login or an error, where a list was expected"),
    (b"\x1f\x8b\x08", "is gzip data; set compression: Gzip"),
    (WHOLE[:-1], "does not end as a Parquet file does: it is not complete; write or upload it anew"),
    (WHOLE[:3000] + b"PAR1", "the footer of the Parquet file is damaged"),
    (WHOLE[:-20] + b"\xff" * 12 + WHOLE[-8:], "the Parquet file cannot be read: it is damaged"),
    (WHOLE[:-8] + (1 << 20).to_bytes(4, "little") + b"PAR1", "the footer of the Parquet file is damaged"),
    (WHOLE[:200] + b"\xff" * 2000 + WHOLE[2200:], "the Parquet file cannot be read: it is damaged"),
    (ENCRYPTED_FOOTER, "is an encrypted Parquet file; write it without encryption"),
    (ENCRYPTED_COLUMN, "the Parquet file cannot be read: it is damaged, encrypted, or made in a way"),
]


@pytest.mark.parametrize(("body", "problem"), BAD, ids=range(len(BAD)))
async def test_what_is_no_whole_parquet_file_is_refused(files: Files, body: bytes, problem: str) -> None:
    error = await refusal(files, body)
    assert (error.field, error.problem[: len(problem)], error.temporary) == (FIELD, problem, False)
    assert "reader ended" not in error.problem


async def test_a_parquet_file_that_is_called_csv_is_recognised(files: Files) -> None:
    assert (await refusal(files, WHOLE, spec(format_="CSV"))).problem == "is a Parquet file; set format: Parquet"


async def test_nothing_of_a_file_in_a_secret_is_shown(files: Files) -> None:
    secret = spec("secretKeyRef")
    shown = str(await refusal(files, parquet({"email": ANN, "hush": nested(["quiet"])}), secret))
    assert "column 2 holds values, of which no variable" in shown
    damaged = str(await refusal(files, WHOLE[:200] + b"\xff" * 2000 + WHOLE[2200:], secret))
    assert damaged.endswith("made in a way that is not known")
    mount(files, parquet({"email": ["nobody"], "hush": ["quiet"]}), "secrets")
    (block,) = await read(files, None, secret)
    assert [(row.field, row.excerpt) for row in block.rejected] == [("email", "")]


async def test_a_file_that_changed_meanwhile_is_not_resumed(files: Files) -> None:
    mount(files, people(300))
    position = (await read(files))[0].position
    mount(files, people(301))
    with pytest.raises(SourceChangedError, match="since line 125 was read: the file reads otherwise now; start a new"):
        await read(files, position)


async def test_a_page_too_large_for_the_reader_takes_nothing_with_it(files: Files) -> None:
    bomb = parquet({"email": ["x" * (150 * MIB)]}, compression="zstd(1)", dictionary_enabled=False)
    assert len(bomb) < MIB
    assert "its pages need more than 256 MiB of memory: write it anew" in (await refusal(files, bomb)).problem


async def test_a_damaged_file_ends_in_an_error_of_ours_wherever_the_damage_is(files: Files) -> None:
    chance = random.Random(4)
    footer = len(WHOLE) - 8 - int.from_bytes(WHOLE[-8:-4], "little")
    for _ in range(25):
        body = bytearray(WHOLE)
        for _ in range(3):
            body[chance.randrange(footer if chance.random() < 0.7 else 4, len(body) - 8)] = chance.randrange(256)
        mount(files, bytes(body))
        try:
            blocks = await read(files)
        except (SourceUnreadableError, MissingColumnError):
            continue
        assert sum(block.lines for block in blocks) <= 300


async def test_an_import_that_is_left_early_leaves_no_process_behind(files: Files) -> None:
    mount(files, people(50_000))
    before = {child.pid for child in psutil.Process().children()}
    async with aclosing(open_import(spec(), ["Email"], files)) as blocks:
        await anext(blocks)
        assert {child.pid for child in psutil.Process().children()} > before
    assert {child.pid for child in psutil.Process().children()} == before


async def test_a_file_that_is_too_large_to_be_kept_is_refused() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield bytes(PARQUET_BYTES + 1)

    with pytest.raises(SourceUnreadableError, match="is larger than 2 GiB, the most that a Parquet file may have"):
        async with fetched(pieces(), FIELD):
            pass


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_may_pass(files: Files) -> None:
    mount(files, people(30_000))
    with files_of_at_most(64 * 1024), pytest.raises(SourceUnreadableError, match="the worker's disk is full") as caught:
        await read(files)
    assert caught.value.temporary


async def test_several_files_are_read_side_by_side(files: Files) -> None:
    mount(files, people(20_000))
    found = await asyncio.gather(read(files), read(files))
    assert [len(people_of(blocks)) for blocks in found] == [20_000, 20_000]
