"""The list of recipients of a run, and what a right import makes of it.

In: a scenario. Out: a CSV file's text with people, people named twice, lines that are broken and people without an
address, in an order of their own; and the truth about it, against which the import is judged. Every line carries some
filling, so that the worker's import takes the list in many blocks.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.chaos.scenario import Scenario

# the worker reads a list in pieces of 256 KiB: about sixty lines
FILLING = 4000


@dataclass(frozen=True, slots=True)
class Person:
    """One person as the list names them; '' is no address."""

    line: int
    email: str
    phone: str


@dataclass(frozen=True, slots=True)
class People:
    """The list and the truth about it. `first_lines`: one person may be named on any of several lines."""

    text: str
    lines: int  # without the header
    people: tuple[Person, ...]  # with an address for some channel, once each
    duplicates: int
    rejected: frozenset[int]
    unreachable: frozenset[int]


def people_of(scenario: Scenario) -> People:
    """The list of a run."""
    rng = random.Random(f"{scenario.seed} people")
    audience, phones = scenario.audience, scenario.sms != "none"
    rows = [
        (f"p{no:04d}@example.com", _phone(no) if phones and rng.random() < 0.8 else "") for no in range(audience.people)
    ]
    rows += [("", _phone(5000 + no)) for no in range(audience.no_email)]
    kinds = ["person"] * len(rows) + ["broken"] * audience.broken + ["unreachable"] * audience.unreachable
    rng.shuffle(kinds)
    rng.shuffle(rows)
    # a person who is named again comes after the first time, anywhere
    for _ in range(audience.duplicates):
        kinds.insert(rng.randrange(kinds.index("person") + 1, len(kinds) + 1), "again")
    return _write(rng, kinds, rows)


def _phone(no: int) -> str:
    return f"+1202555{no:04d}"


def _write(rng: random.Random, kinds: list[str], rows: list[tuple[str, str]]) -> People:
    lines, people, rejected, unreachable = ["id,email,phone,name,filling\n"], list[Person](), set[int](), set[int]()
    waiting = iter(rows)
    for line, kind in enumerate(kinds, 2):
        email, phone, name = "", "", f"Name {line}"
        if kind == "person":
            email, phone = next(waiting)
            people.append(Person(line, email, phone))
        elif kind == "again":
            one = rng.choice(people)
            email, phone = one.email.replace("p", "P", 1), one.phone
        elif kind == "broken":
            email = rng.choice(("no-address", "two@@example.com", "a b@example.com", "@example.com"))
            rejected.add(line)
        else:
            unreachable.add(line)
        lines.append(f"u{line},{email},{phone},{name},{chr(97 + line % 26) * FILLING}\n")
    return People(
        "".join(lines), len(kinds), tuple(people), kinds.count("again"), frozenset(rejected), frozenset(unreachable)
    )
