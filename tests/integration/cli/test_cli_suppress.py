"""`sendonce suppress`: adding, removing, listing, and CSV in and out."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

Sendonce = Callable[..., Awaitable[Any]]


async def test_an_address_is_normalised_as_the_import_does(sendonce: Sendonce) -> None:
    assert (await sendonce("suppress", "add", "Email", " Mia.X@EXAMPLE.com ", "--reason", "bounced")).out == "added\n"
    assert (await sendonce("suppress", "add", "Email", "mia.x@example.com", "--reason", "bounced")).out == (
        "it was there already\n"
    )
    await sendonce("suppress", "add", "SMS", "+1 (500) 555-0006")
    found = (await sendonce("suppress", "list", "-o", "json")).data
    assert [(one["channel"], one["address"], one["reason"]) for one in found] == [
        ("Email", "mia.x@example.com", "bounced"),
        ("SMS", "+15005550006", "blocked"),
    ]
    found = (
        await sendonce("suppress", "list", "--channel", "Email", "--address", "MIA.X@example.com", "-o", "json")
    ).data
    assert len(found) == 1


async def test_a_suppression_can_be_taken_back_once(sendonce: Sendonce) -> None:
    await sendonce("suppress", "add", "Email", "mia@example.com")
    assert (await sendonce("suppress", "remove", "Email", "MIA@example.com")).out == "removed\n"
    ran = await sendonce("suppress", "remove", "Email", "mia@example.com")
    assert (ran.code, ran.err.startswith("error: there is no such entry")) == (4, True)


async def test_an_opt_out_is_of_a_category_or_of_one_topic(sendonce: Sendonce) -> None:
    mia = ("Email", "mia@example.com", "--opt-out", "--category", "Marketing")
    await sendonce("suppress", "add", *mia, "--topic", "newsletter")
    await sendonce("suppress", "add", *mia)
    found = (await sendonce("suppress", "list", "--opt-out", "-o", "json")).data
    assert [(one["category"], one["topic"]) for one in found] == [("Marketing", ""), ("Marketing", "newsletter")]
    assert (await sendonce("suppress", "remove", *mia)).code == 0
    assert len((await sendonce("suppress", "list", "--opt-out", "-o", "json")).data) == 1
    assert (await sendonce("suppress", "list", "-o", "json")).data == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Email", "mia"], "address: is not a valid email address"),
        (["SMS", "12"], "address:"),
        (["Post", "mia"], "'Post' is not one of"),
        (["Email", "mia@example.com", "--reason", "tired"], "'tired' is not one of"),
        (["Email", "mia@example.com", "--opt-out"], "--category: is needed with --opt-out"),
        (["Email", "mia@example.com", "--topic", "t"], "are for opt-outs; add --opt-out"),
        (["Email", "mia@example.com", "--opt-out", "--category", "Marketing", "--reason", "bounced"], "--reason"),
        (["Email", "mia@example.com", "--opt-out", "--category", "Marketing", "--topic", "a b"], "topic: 'a b'"),
    ],
)
async def test_wrong_entries_are_refused(sendonce: Sendonce, arguments: list[str], words: str) -> None:
    ran = await sendonce("suppress", "add", *arguments)
    assert ran.code == 2
    assert words in ran.err


async def test_what_is_exported_can_be_imported(sendonce: Sendonce, tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text(
        "channel,address,reason\nEmail,MIA@example.com,bounced\n\nsms,+1 500 555 0006,Complained\n", "utf-8-sig"
    )
    assert (await sendonce("suppress", "import", str(file))).out == "2 rows read, 2 new or changed\n"
    assert (await sendonce("suppress", "import", str(file))).out == "2 rows read, 0 new or changed\n"
    exported = await sendonce("suppress", "export")
    assert exported.out == "channel,address,reason\nEmail,mia@example.com,bounced\nSMS,+15005550006,complained\n"
    (one, _) = (await sendonce("suppress", "list", "-o", "json")).data
    assert one["source"] == "list.csv"
    await sendonce("suppress", "export", str(tmp_path / "out.csv"), "--channel", "SMS")
    assert (tmp_path / "out.csv").read_text() == "channel,address,reason\nSMS,+15005550006,complained\n"


async def test_opt_outs_are_exported_and_imported_with_their_topics(sendonce: Sendonce) -> None:
    text = "channel,address,category,topic\nEmail,a@example.com,Marketing,\nEmail,a@example.com,Marketing,offers\n"
    assert (await sendonce("suppress", "import", "-", "--opt-out", stdin=text)).out == "2 rows read, 2 new or changed\n"
    assert (await sendonce("suppress", "export", "--opt-out")).out == text
    without = "channel,address,category\nEmail,b@example.com,marketing\n"
    assert (await sendonce("suppress", "import", "-", "--opt-out", stdin=without)).code == 0


async def test_one_bad_row_and_nothing_is_imported(sendonce: Sendonce) -> None:
    text = (
        "channel,address,reason\nEmail,a@example.com,bounced\nEmail,a(at)example.com,bounced\nFax,1,bounced\n"
        "Email,b@example.com,tired\nEmail,c@example.com,bounced,more\n"
    )
    ran = await sendonce("suppress", "import", "-", stdin=text)
    assert ran.code == 2
    assert [line.split(": ")[1:3] for line in ran.err.splitlines()] == [
        ["<stdin>:3", "address"],
        ["<stdin>:4", "channel"],
        ["<stdin>:5", "reason"],
        ["<stdin>:6", "has more fields than the header names"],
    ]
    assert (await sendonce("suppress", "list", "-o", "json")).data == []
    ran = await sendonce("suppress", "import", "-", "--skip-bad", stdin=text)
    assert (ran.code, ran.out) == (0, "1 rows read, 1 new or changed, 4 skipped\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "<stdin>:1: has no column channel or address or reason"),
        (b"channel,address\nEmail,a@example.com\n", "has no column reason; the header must be channel,address,reason"),
        (b"channel,address,reason\nEmail,m\xfcller@example.com,bounced\n", "<stdin>:2: is not UTF-8"),
        (b'channel,address,reason\nEmail,"a@example.com,bounced\n', "is not CSV"),
    ],
)
async def test_a_file_that_is_no_such_list(sendonce: Sendonce, text: bytes, words: str) -> None:
    ran = await sendonce("suppress", "import", "-", stdin=text)
    assert ran.code == 2
    assert words in ran.err


async def test_a_long_list_is_imported_whole(sendonce: Sendonce) -> None:
    rows = "".join(f"Email,n{no}@example.com,bounced\n" for no in range(12_000))
    ran = await sendonce("suppress", "import", "-", stdin="channel,address,reason\n" + rows)
    assert ran.out == "12,000 rows read, 12,000 new or changed\n"
