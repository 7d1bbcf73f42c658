"""The names that a template may use for a person: what is known of the person in, variables out; pure.

Whoever renders asks here: the worker before the hand-off, a preview, and what shows again later what went out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sendonce_store.spec.channels import ADDRESS_COLUMNS, Channel

__all__ = ["Addressee", "LinkMaker", "template_variables"]


class Addressee(Protocol):
    """A person as the ledger, an import or a due row has it. `addresses`: channel → (as written, normalised)."""

    @property
    def ref(self) -> str | None:
        """The sender's own reference."""

    @property
    def timezone(self) -> str | None:
        """An IANA name."""

    @property
    def locale(self) -> str | None:
        """A language tag."""

    @property
    def variables(self) -> Mapping[str, object]:
        """The sender's own columns."""

    @property
    def addresses(self) -> Mapping[str, Sequence[str]]:
        """Channel → (as written, normalised)."""


class LinkMaker(Protocol):
    """Who makes the links of a channel's messages, if there is a gateway."""

    def variables(self, person: Addressee) -> Mapping[str, object]:
        """Those links that the template asks for, by name; none that the person has a column for."""


def template_variables(person: Addressee, links: LinkMaker | None = None) -> dict[str, object]:
    """The names a template may use: the sender's own columns, those with a meaning to us, and links that it asks for.

    A column that is absent is left out, so that a template that needs it fails for this person alone.
    """
    known: dict[str, object] = {
        ADDRESS_COLUMNS[Channel(channel)]: addresses[0] for channel, addresses in person.addresses.items()
    }
    reserved = {"id": person.ref, "timezone": person.timezone, "locale": person.locale}
    known.update({name: value for name, value in reserved.items() if value is not None})
    made = {} if links is None else links.variables(person)
    return {**person.variables, **made, **known}
