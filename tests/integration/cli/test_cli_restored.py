"""`sendonce restored`: what it says, and that it is not done by accident."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sendonce_store.connection import Connection
from sendonce_store.recipients import Recipient

Person = Callable[..., Recipient]
Sendonce = Callable[..., Awaitable[Any]]


@pytest.fixture
def sown_people(person: Person) -> list[Recipient]:
    return [person(no, f"N{no}", Email=f"n{no}@example.com") for no in range(2, 5)]


async def test_it_names_what_is_in_doubt_and_what_has_to_be_brought_back(
    sendonce: Sendonce, sow: Any, sown_people: list[Recipient]
) -> None:
    sown = await sow(sown_people)
    ran = await sendonce("restored", "--yes")
    assert ran.code == 0
    assert "Opt-outs, suppressions and orders" in ran.out
    assert ran.out.splitlines()[-1].split() == ["default", "spring", "3"]
    await sown.send()
    shown = (await sendonce("show", "spring", "n2@example.com")).out
    assert "an attempt that the store would have forgotten" in shown
    assert (await sendonce("status", "spring", "-o", "json")).data["deliveries"]["uncertain"] == 3


async def test_a_store_with_nothing_under_way_says_so(sendonce: Sendonce, conn: Connection) -> None:
    ran = await sendonce("restored", "--yes")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "No campaign was under way.")


async def test_it_is_not_done_unasked(sendonce: Sendonce, sow: Any, sown_people: list[Recipient]) -> None:
    sown = await sow(sown_people)
    ran = await sendonce("restored")
    assert ran.code == 2
    assert ran.err.startswith("error: --yes: is needed. Every pending delivery")
    await sown.send()
    assert (await sendonce("status", "spring", "-o", "json")).data["deliveries"]["sent"] == 3


@pytest.mark.parametrize(
    ("point", "problem"),
    [
        ("yesterday", "--point: 'yesterday' is not a time: write it as 2026-12-01T03:00:00Z"),
        ("2026-12-01T03:00:00", "--point: '2026-12-01T03:00:00' has no offset: write it as 2026-12-01T03:00:00Z"),
        ("2999-12-01T03:00:00Z", "point: 2999-12-01T03:00:00+00:00 is later than"),
    ],
)
async def test_a_wrong_point_is_refused(sendonce: Sendonce, conn: Connection, point: str, problem: str) -> None:
    ran = await sendonce("restored", "--yes", "--point", point)
    assert ran.code == 2
    assert problem in ran.err
