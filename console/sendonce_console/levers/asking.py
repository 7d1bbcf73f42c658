"""What a form or an address orders: fields in, the lever with its checked order out; or the error that names the field.

An order is what a NotificationAction can say, and it is the model of that resource that checks it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from sendonce_console.levers.wording import LEVERS, Lever
from sendonce_console.web.problems import ProblemError, bad_request, not_found
from sendonce_store.ordering import pascal
from sendonce_store.spec import ActionSpec
from sendonce_store.spec.problems import field_name
from sendonce_store.spec.wording import findings

__all__ = ["FIELDS", "find_lever", "fresh_name", "read_name", "read_selection", "spec_of"]

FIELDS = ("states", "reasons", "codes", "channels", "recipients")
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def find_lever(key: str) -> Lever:
    """The lever of that name. Raises ProblemError."""
    lever = LEVERS.get(key)
    if lever is None:
        raise not_found("There is no such lever", f"There are {', '.join(LEVERS)}.")
    return lever


def fresh_name(lever: Lever) -> str:
    """A name for an order: it is made with the page that asks, so that the same form sent twice is one order."""
    return f"console-{lever.key}-{secrets.token_hex(6)}"


def read_name(text: str) -> str:
    """The name of an order. Raises ProblemError."""
    if _NAME.fullmatch(text) is None:
        raise bad_request("name", "is no name of an order", "Use small letters, digits and hyphens, 63 at most.")
    return text


def read_selection(given: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Fields of an address or a form as `deliveries` of an action, in its words."""
    found = {name: [word for word in given.get(name, ()) if word] for name in FIELDS}
    for name in ("states", "reasons"):
        found[name] = [pascal(word) if word.islower() else word for word in found[name]]
    return {name: list(dict.fromkeys(words)) for name, words in found.items() if words}


def spec_of(lever: Lever, campaign: str, deliveries: Mapping[str, Any]) -> ActionSpec:
    """The checked order of a lever that has a type. Raises ProblemError."""
    wire: dict[str, Any] = {"campaignRef": {"name": campaign}, "type": lever.type}
    if lever.resolve_as is not None:
        wire["resolveAs"] = lever.resolve_as
    chosen = dict(deliveries)
    if lever.takes_rows and lever.states and not chosen.get("states"):
        chosen["states"] = [pascal(state) for state in lever.states]
    if lever.takes_rows and chosen:
        wire["deliveries"] = chosen
    try:
        return ActionSpec.from_wire(wire)
    except ValidationError as error:
        raise _problem(error) from None


def _problem(error: ValidationError) -> ProblemError:
    path, words = next(findings(error, ActionSpec, echo=False))
    return bad_request(field_name(path) or "deliveries", words, "Change it and send it again.")
