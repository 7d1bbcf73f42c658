"""CSV of an import: what is a record, what is refused, and where."""

import pytest

from sendonce_store.recipients import Rejected
from sendonce_store.spec.recipients import RecipientFormat
from sendonce_worker.importing import Block, MissingColumnError, SourceUnreadableError
from sendonce_worker.importing.records import BLOCK_ROWS
from sendonce_worker.importing.stream import Layout, StreamImport

KIB = 1024


def read(data: str | bytes, *channels: str, secret: bool = False) -> list[Block]:
    layout = Layout(RecipientFormat.CSV, frozenset(channels or ("Email",)), "spec.recipients.configMapKeyRef", secret)
    stream = StreamImport(layout, None, lambda: None)
    raw = data.encode() if isinstance(data, str) else data
    return [*stream.feed(raw), *stream.finish()]


def emails(blocks: list[Block]) -> list[tuple[int, str]]:
    found = [recipient for block in blocks for recipient in block.recipients]
    return [(recipient.line, recipient.addresses["Email"].original) for recipient in found]


def refused(blocks: list[Block]) -> list[Rejected]:
    return [rejected for block in blocks for rejected in block.rejected]


def test_reserved_columns_count_whatever_their_case_and_variables_keep_theirs() -> None:
    (block,) = read("ID, Email ,firstName\n7,ann@example.com,Ann\n")
    (recipient,) = block.recipients
    assert recipient.ref == "7"
    assert recipient.addresses["Email"].original == "ann@example.com"
    assert recipient.variables == {"firstName": "Ann"}


def test_a_byte_order_mark_is_no_part_of_the_first_column() -> None:
    assert emails(read(b"\xef\xbb\xbfemail\nann@example.com\n")) == [(2, "ann@example.com")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_may_end_in_either_way_and_the_last_not_at_all(end: str, last: bool) -> None:
    data = end.join(["email,name", "ann@example.com,Ann", "bob@example.com,Bob"]) + (end if last else "")
    blocks = read(data)
    assert [recipient.variables["name"] for block in blocks for recipient in block.recipients] == ["Ann", "Bob"]
    assert blocks[-1].position.offset == len(data)
    assert blocks[-1].position.line == 3


def test_blank_lines_are_no_records_but_count_as_lines() -> None:
    blocks = read("\nemail\n\nann@example.com\n   \n\r\nbob@example.com\n\n")
    assert emails(blocks) == [(4, "ann@example.com"), (7, "bob@example.com")]
    assert sum(block.lines for block in blocks) == 2
    assert refused(blocks) == []


def test_quoted_fields_hold_commas_quotes_and_line_feeds() -> None:
    blocks = read('email,name,note\nann@example.com,"Lee, ""Ann""","one\r\ntwo\n"\nbob@example.com,5" disk,x\n')
    first, second = blocks[0].recipients
    assert first.variables == {"name": 'Lee, "Ann"', "note": "one\r\ntwo\n"}
    assert second.variables == {"name": '5" disk', "note": "x"}
    assert (first.line, second.line) == (2, 5)


def test_a_row_with_too_many_or_too_few_fields_is_refused_with_its_line_and_the_rest_go_on() -> None:
    blocks = read("email,name\nann@example.com\nbob@example.com,Bob,x\ncy@example.com,Cy\n")
    assert emails(blocks) == [(4, "cy@example.com")]
    assert [(row.line, row.field, row.reason) for row in refused(blocks)] == [
        (2, "row", "has 1 fields; the header names 2"),
        (3, "row", "has 3 fields; the header names 2"),
    ]
    assert refused(blocks)[1].excerpt == "bob@example.com,Bob,x"


def test_a_stray_quote_costs_only_its_own_line() -> None:
    lines = [
        "email,name",
        'ann@example.com,"Ann',
        "bob@example.com,Bob",
        'cy@example.com,"Cy, Jr"',
        "di@example.com,Di",
    ]
    blocks = read("\n".join(lines))
    assert emails(blocks) == [(3, "bob@example.com"), (4, "cy@example.com"), (5, "di@example.com")]
    (rejected,) = refused(blocks)
    assert (rejected.line, rejected.excerpt) == (2, 'ann@example.com,"Ann')
    assert "write a quote inside quotes as two" in rejected.reason


def test_a_quote_that_is_never_closed_costs_only_its_own_line() -> None:
    rest = "".join(f"p{number}@example.com,x\n" for number in range(20_000))
    blocks = read('email,name\nann@example.com,"Ann\n' + rest)
    assert len(emails(blocks)) == 20_000
    (rejected,) = refused(blocks)
    assert rejected.line == 2
    assert rejected.reason == "opens a quote that is not closed within 256 KiB"


def test_a_quote_that_is_open_at_the_end_is_named() -> None:
    first, second = refused(read('email,name\nann@example.com,"Ann\nbob@example.com,B\rb\n'))
    assert (first.line, first.reason) == (2, "opens a quote that is never closed")
    assert (second.line, second.reason) == (3, "contains a carriage return outside quotes")


def test_a_carriage_return_inside_a_field_is_refused() -> None:
    blocks = read("email,name\nann@example.com,A\rnn\nbob@example.com,Bob\n")
    assert emails(blocks) == [(3, "bob@example.com")]
    assert refused(blocks)[0].reason == "contains a carriage return outside quotes"


def test_a_row_that_is_not_utf8_is_refused_with_its_field_and_the_rest_go_on() -> None:
    blocks = read("email,name\nann@example.com,Änn\n".encode() + b"bob@example.com,B\xf6b\ncy@example.com,Cy\n")
    assert emails(blocks) == [(2, "ann@example.com"), (4, "cy@example.com")]
    assert refused(blocks) == [Rejected(3, "name", "is not valid UTF-8", "B�b")]


def test_a_nul_is_refused_with_its_field() -> None:
    blocks = read(b"email,name\n" + b"ann@example.com,Ann\n" * 10 + b"bob@example.com,B\x00b\n")
    assert len(emails(blocks)) == 10
    assert refused(blocks) == [Rejected(12, "name", "contains a NUL character", "B b")]


def test_an_address_of_ten_thousand_characters_is_refused_with_a_clipped_excerpt() -> None:
    (rejected,) = refused(read(f"email\n{'a' * 10_000}@example.com\n"))
    assert rejected.field == "email"
    assert rejected.excerpt == "a" * 120 + "…"


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_line_of_256_kib_is_read_and_one_byte_more_is_refused(quote: str) -> None:
    filler = "x" * (256 * KIB - len(f"ann@example.com,{quote}{quote}\n"))
    data = f"email,name\nann@example.com,{quote}{filler}{quote}\nbob@example.com,{quote}{filler}y{quote}\n"
    blocks = read(data + "cy@example.com,z\n")
    assert emails(blocks) == [(2, "ann@example.com"), (4, "cy@example.com")]
    assert [row.line for row in refused(blocks)] == [3]


def test_a_line_beyond_the_limit_is_refused_with_its_line_and_the_rest_go_on() -> None:
    blocks = read(f"email,name\nann@example.com,Ann\nbob@example.com,{'x' * 256 * KIB}\ncy@example.com,Cy\n")
    assert emails(blocks) == [(2, "ann@example.com"), (4, "cy@example.com")]
    (rejected,) = refused(blocks)
    assert (rejected.line, rejected.field, rejected.reason) == (3, "row", "is longer than 256 KiB")
    assert rejected.excerpt == "bob@example.com," + "x" * 104 + "…"


def test_a_secret_shows_nothing_of_its_rows() -> None:
    data = b"email,name\nhunter2\nhunter2,x\n\xffhunter2@example.com,x\n"
    rows = refused(read(data + f"hunter2,{'x' * 256 * KIB}\n".encode(), secret=True))
    assert len(rows) == 4
    assert [row.excerpt for row in rows] == ["", "", "", ""]
    assert "hunter2" not in repr(rows)


def test_a_header_without_a_needed_column_names_those_wanted_and_those_found() -> None:
    with pytest.raises(MissingColumnError) as caught:
        read("mail,name\nann@example.com,Ann\n", "Email", "SMS")
    assert str(caught.value) == (
        "spec.recipients.configMapKeyRef: has no column email or phone, which the campaign's channels need; "
        "found: mail, name"
    )


def test_a_header_with_semicolons_is_told_what_is_wrong() -> None:
    with pytest.raises(MissingColumnError, match="columns must be separated by commas"):
        read("id;email;name\n1;ann@example.com;Ann\n")


def test_the_header_of_a_secret_is_not_repeated() -> None:
    with pytest.raises(MissingColumnError) as caught:
        read("-----BEGIN hunter2-----\nhunter2\n", secret=True)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(SourceUnreadableError) as twice:
        read("hunter2,hunter2\n", secret=True)
    assert "hunter2" not in str(twice.value)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty; a CSV source begins with a header"),
        (b"\xef\xbb\xbf\n \n", "is empty; a CSV source begins with a header"),
        (b"email,Email\n", "column email is there twice"),
        (b"email,,name\n", "column 2 has no name"),
        (b"email,name,name\n", "column name is there twice"),
        (b'email,"name\n', "the header is not valid CSV"),
        (b"email\rann@example.com\r", "carriage return alone"),
        (b"email,n\xe4me\n", "the header is not valid UTF-8"),
        (b"email," + b"x" * 300 * KIB + b"\n", "the header is longer than 256 KiB"),
        ("email\nann@example.com\n".encode("utf-16"), "looks like UTF-16"),
        ("email\nann@example.com\n".encode("utf-16-le"), "looks like UTF-16"),
        (b"\x1f\x8b\x08\x00rest", "set compression: Gzip"),
        (b"PK\x03\x04rest", "Excel workbook; export it as CSV"),
        (b"\n<!DOCTYPE html><html>", "is an HTML or XML page"),
    ],
)
def test_a_source_that_cannot_be_csv_says_what_it_is_and_what_to_do(data: bytes, problem: str) -> None:
    with pytest.raises(SourceUnreadableError, match=problem) as caught:
        read(data)
    assert not caught.value.temporary


def test_a_header_alone_gives_no_block() -> None:
    assert read("email,name\n") == []
    assert read("email,name") == []


def test_a_block_holds_few_records() -> None:
    blocks = read("email\n" + "".join(f"p{number}@example.com\n" for number in range(2 * BLOCK_ROWS + 1)))
    assert [block.lines for block in blocks] == [BLOCK_ROWS, BLOCK_ROWS, 1]


def test_a_persons_own_quiet_hours_are_a_pair_of_times() -> None:
    blocks = read(
        "email,quiet\na@example.com,21:00-09:00\nb@example.com,\nc@example.com,21-9\nd@example.com,08:00-08:00\n"
    )
    found = [(recipient.line, recipient.quiet) for block in blocks for recipient in block.recipients]
    assert found == [(2, "21:00-09:00"), (3, None)]
    assert [(row.line, row.field) for row in refused(blocks)] == [(4, "quiet"), (5, "quiet")]


def test_a_persons_channels_are_a_list_and_the_others_are_left_out() -> None:
    blocks = read('email,channels\na@example.com,"sms, Email"\nb@example.com,SMS\nc@example.com,\nd@example.com,Fax\n')
    found = [(one.line, one.prefers, list(one.addresses)) for block in blocks for one in block.recipients]
    assert found == [(2, ("SMS", "Email"), ["Email"]), (3, ("SMS",), []), (4, (), ["Email"])]
    assert [(row.line, row.field) for row in refused(blocks)] == [(5, "channels")]
