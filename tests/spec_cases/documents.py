"""Every document of the tables as a whole one, sound or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.spec_cases.bodies import C, P
from tests.spec_cases.complete import COMPLETE
from tests.spec_cases.mistakes import CAMPAIGN, INSTEAD, MORE, PROVIDER, PROVIDERS
from tests.spec_cases.rules import CASES
from tests.spec_cases.values import LEAST, VALUES

from sendonce_store.spec import SpecModel
from sendonce_store.spec.document_text import read_documents

__all__ = ["as_document", "sound", "unsound"]

Object = dict[str, Any]
_TYPES = {("sendonce.dev/v1alpha1", kind.__name__) for kind in (C, P)}


def as_document(kind: type[SpecModel], body: Object) -> Object:
    """Put apiVersion and kind in front."""
    return {"apiVersion": "sendonce.dev/v1alpha1", "kind": kind.__name__, **body}


def sound() -> Iterator[tuple[str, type[SpecModel], Object]]:
    """Yield (what it shows, kind, document) for what must be taken."""
    for name, kind, keeps, _, field in CASES:
        yield f"{name}-{field}", kind, as_document(kind, keeps)
    for no, (kind, body) in enumerate(COMPLETE):
        yield f"complete-{no}", kind, as_document(kind, body)
    for field, good, _ in VALUES:
        yield from ((f"{field}={value}", C, _with(field, value)) for value in good)


def unsound() -> Iterator[tuple[str, type[SpecModel], Object]]:
    """Yield (what it shows, kind, document) for what must be refused."""
    for field, _, bad in VALUES:
        yield from ((f"{field}={value}"[:60], C, _with(field, value)) for value in bad)
    for more, _ in MORE:
        yield from ((more, C, document) for document in _parsed(CAMPAIGN + more))
    for old, new, _ in INSTEAD:
        yield from ((f"{old} -> {new}", C, document) for document in _parsed(CAMPAIGN.replace(old, new)))
    for spec, _ in PROVIDERS:
        yield from ((spec, P, document) for document in _parsed(f"{PROVIDER}spec: {spec}\n"))


def _with(field: str, value: object) -> Object:
    return as_document(C, {"metadata": {"name": "spring"}, "spec": LEAST | {field: value}})


def _parsed(text: str) -> list[Object]:
    """Return the document, or nothing if it can't be read, has no name, or is of a kind that nobody knows."""
    raws, problems = read_documents(text, "c.yaml")
    found = [dict(raw.data) for _, raw in raws if isinstance(raw.data, dict)]
    return (
        []
        if problems
        else [one for one in found if one.get("metadata") and {(one.get("apiVersion"), one.get("kind"))} <= _TYPES]
    )
