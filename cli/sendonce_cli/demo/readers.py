"""The demo's list: a seed in, the lines of a CSV out, with the flaws that real lists have. Nobody in it exists."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass

_NAMES = (
    "Aiko",
    "Bruno",
    "Chidi",
    "Dana",
    "Elif",
    "Femi",
    "Greta",
    "Hana",
    "Ivo",
    "Jun",
    "Kaya",
    "Lior",
    "Mina",
    "Noor",
)
_TOWNS = ("Aarau", "Bergen", "Cusco", "Daegu", "Espoo", "Fez", "Gent", "Hue", "Izmir", "Jinja", "Kyoto", "Lviv")
HEADER = ("id", "email", "phone", "name", "town")
# what is wrong with some of the rows, for the import to refuse
_BROKEN = ("not-an-address", "two@@example.com", "nobody@", "@example.com", "space in@example.com")


@dataclass(frozen=True, slots=True)
class Readers:
    """The list as a file, and what is known about it."""

    text: str
    people: int
    duplicates: int
    broken: int
    opted_out: Sequence[str]

    @property
    def lines(self) -> int:
        """Rows below the header."""
        return self.people + self.duplicates + self.broken


def make_readers(people: int, seed: int) -> Readers:
    """`people` readers, a few of them twice in other spelling, and some rows that can't be used."""
    rng = random.Random(seed)  # noqa: S311 - a repeatable list, not a secret
    rows = [_reader(number, rng) for number in range(people)]
    again = [_again(row, rng) for row in rng.sample(rows, people // 50)]
    broken = [(f"x{number}", rng.choice(_BROKEN), "", "Nobody", "Nowhere") for number in range(people // 100)]
    lines = [*rows, *again, *broken]
    rng.shuffle(lines)
    opted_out = [row[1] for row in rng.sample(rows, people // 100)]
    return Readers(_csv(lines), people, len(again), len(broken), opted_out)


def _reader(number: int, rng: random.Random) -> tuple[str, ...]:
    name, town = rng.choice(_NAMES), rng.choice(_TOWNS)
    return f"r{number}", f"{name.lower()}.{number}@example.com", f"+1202555{number:04d}", name, town


def _again(row: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    address = row[1].upper() if rng.random() < 0.5 else f" {row[1]} "  # noqa: PLR2004 - a coin
    return f"{row[0]}-again", address, row[2], row[3], row[4]


def _csv(rows: Sequence[tuple[str, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([HEADER, *rows])
    return text.getvalue()
