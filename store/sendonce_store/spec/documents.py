"""Documents as people write them: YAML or JSON text in, sound models out.

The path of a file: `document_text` decodes and splits it, `yaml_tree` reads each document as kubectl does, this module
finds the model by apiVersion and kind, `wording` explains what does not fit. Every mistake of every document is
reported at once, in one SpecError; the rules over several fields of an object are applied once its own fields are
sound, as the API server does it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pydantic import ValidationError

from sendonce_store.spec.action import NotificationAction
from sendonce_store.spec.campaign import NotificationCampaign
from sendonce_store.spec.core_objects import ConfigMap, Secret
from sendonce_store.spec.document_text import decode, read_documents
from sendonce_store.spec.metadata import API_VERSION
from sendonce_store.spec.nearest import did_you_mean
from sendonce_store.spec.problems import Path, Problem, SpecError, field_name
from sendonce_store.spec.provider import ClusterNotificationProvider, NotificationProvider
from sendonce_store.spec.wording import findings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from sendonce_store.spec.yaml_tree import RawDocument

__all__ = ["KINDS", "Document", "Resource", "load_documents"]

Resource: TypeAlias = (
    NotificationCampaign | NotificationProvider | ClusterNotificationProvider | NotificationAction | ConfigMap | Secret
)

KINDS: Mapping[str, tuple[str, type[Resource]]] = {
    "NotificationCampaign": (API_VERSION, NotificationCampaign),
    "NotificationProvider": (API_VERSION, NotificationProvider),
    "ClusterNotificationProvider": (API_VERSION, ClusterNotificationProvider),
    "NotificationAction": (API_VERSION, NotificationAction),
    "ConfigMap": ("v1", ConfigMap),
    "Secret": ("v1", Secret),
}
"""Kind → its apiVersion and its model."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document and where it stands: `number` counts from 1 in its source."""

    source: str
    number: int
    resource: Resource
    raw: RawDocument = field(repr=False)

    @property
    def line(self) -> int:
        """The document's first line."""
        return self.raw.line

    def problem(self, path: Path, message: str) -> Problem:
        """Say that something is wrong at `path` (names on the wire), such as a template that does not compile."""
        return Problem(self.source, self.number, self.raw.line_at(path), field_name(path), message)


def load_documents(text: str | bytes, source: str, *, namespace: str = "default") -> list[Document]:
    """Read all documents of a file.

    `source` is its name for messages; `namespace` is that of objects that name none. Empty documents are skipped.
    Raises SpecError with every problem found.
    """
    raws, problems = read_documents(decode(text, source), source)
    documents: list[Document] = []
    for number, raw in raws:
        found = _read_one(raw, source, number, namespace)
        if isinstance(found, Document):
            documents.append(found)
        else:
            problems += found
    problems += _given_twice(documents)
    if problems:
        raise SpecError(problems)
    return documents


def _read_one(raw: RawDocument, source: str, number: int, namespace: str) -> Document | list[Problem]:
    def problem(path: Path, message: str) -> Problem:
        return Problem(source, number, raw.line_at(path), field_name(path), message)

    if not isinstance(raw.data, dict):
        return [problem((), "a document must be a mapping with apiVersion, kind, metadata and spec")]
    if wrong := list(_wrong_kind(raw.data)):
        return [problem(path, message) for path, message in wrong]
    _, model = KINDS[str(raw.data["kind"])]
    try:
        resource = model.from_wire(_in_namespace(raw.data, namespace))
    except ValidationError as error:
        return [problem(path, message) for path, message in findings(error, model, echo=model is not Secret)]
    return Document(source, number, resource, raw)


def _wrong_kind(data: dict[str, JsonValue]) -> Iterator[tuple[Path, str]]:
    kind, version = data.get("kind"), data.get("apiVersion")
    if not isinstance(kind, str):
        yield ("kind",), f"is required: one of {', '.join(KINDS)}"
    elif kind not in KINDS:
        yield ("kind",), f"unknown kind {kind[:63]}{did_you_mean(kind, KINDS) or '; known: ' + ', '.join(KINDS)}"
    known = {KINDS[kind][0]} if isinstance(kind, str) and kind in KINDS else {v for v, _ in KINDS.values()}
    if not isinstance(version, str):
        yield ("apiVersion",), f"is required: {' or '.join(sorted(known, reverse=True))}"
    elif version not in known:
        yield ("apiVersion",), f"unknown apiVersion {version[:63]}; use {' or '.join(sorted(known))}"


def _in_namespace(data: dict[str, JsonValue], namespace: str) -> dict[str, JsonValue]:
    metadata = data.get("metadata")
    if data["kind"] == "ClusterNotificationProvider" or not isinstance(metadata, dict):
        return data
    given = {name: value for name, value in metadata.items() if value is not None}
    return {**data, "metadata": {"namespace": namespace, **given}}


def _given_twice(documents: list[Document]) -> Iterator[Problem]:
    first: dict[tuple[str, str | None, str], Document] = {}
    for document in documents:
        metadata = document.resource.metadata
        earlier = first.setdefault((document.resource.kind, metadata.namespace, metadata.name), document)
        if earlier is not document:
            message = f"{document.resource.kind} {metadata.name} is already in line {earlier.line}; keep one"
            yield document.problem(("metadata", "name"), message)
