"""From a NotificationAction to the store's order."""

from __future__ import annotations

from typing import Any

import pytest

from sendonce_store.actions import Order, Selection
from sendonce_store.named_people import BIGGEST_LINE, line_of
from sendonce_store.ordering import order_of, pascal, snake
from sendonce_store.spec import ActionSpec, DeliveryReason

EVERYTHING: dict[str, Any] = {
    "states": ["Failed", "Cancelled"],
    "reasons": ["RetriesExhausted", "Permanent"],
    "codes": ["4.2.2"],
    "channels": ["Email", "SMS"],
    "limit": 500,
    "recipients": ["ada", "line:12"],
}
CHOSEN = Selection(
    ["failed", "cancelled"], ["retries_exhausted", "permanent"], ["4.2.2"], ["Email", "SMS"], 500, ["ada", "line:12"]
)


@pytest.mark.parametrize(
    ("wire", "order"),
    [
        ({"type": "Retry"}, Order("a", "Retry", Selection(["failed"]))),
        ({"type": "Retry", "deliveries": EVERYTHING}, Order("a", "Retry", CHOSEN)),
        ({"type": "Resolve", "resolveAs": "Resend"}, Order("a", "Resolve", Selection(["uncertain"]), "resend")),
        ({"type": "Promote"}, Order("a", "Promote", Selection([]))),
        ({"type": "Resume"}, Order("a", "Resume", Selection([]))),
        (
            {"type": "Suppress", "deliveries": {"recipients": ["ada"]}},
            Order("a", "Suppress", Selection(None, recipients=["ada"])),
        ),
        (
            {"type": "Unsuppress", "deliveries": {"states": ["Failed"]}},
            Order("a", "Unsuppress", Selection(["failed"])),
        ),
    ],
)
def test_an_order_says_what_the_action_says(wire: dict[str, Any], order: Order) -> None:
    spec = ActionSpec.from_wire(wire | {"campaignRef": {"name": "spring"}})
    assert order_of("a", spec) == order


def test_an_order_knows_who_gave_it() -> None:
    spec = ActionSpec.from_wire({"type": "Retry", "campaignRef": {"name": "spring"}})
    assert order_of("a", spec, 32.0, "mia").document()["requestedBy"] == "mia"
    assert order_of("a", spec, 32.0, "mia").patience == 32.0


@pytest.mark.parametrize("reason", DeliveryReason)
def test_the_words_of_the_ledger_and_of_the_resources_are_the_same_ones(reason: DeliveryReason) -> None:
    assert pascal(snake(reason.value)) == reason.value


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("line:12", 12),
        ("12", None),
        ("line:", None),
        ("line:-1", None),
        ("line:\u0663", None),
        ("line:99999999999999999999999", None),
        ("line:9999999999999999999", BIGGEST_LINE),
    ],
)
def test_a_line_is_named_by_digits_alone(name: str, line: int | None) -> None:
    assert line_of(name) == line
