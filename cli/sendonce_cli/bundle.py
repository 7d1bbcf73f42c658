"""The documents of one command: files in, checked models with their places out; every mistake of every file at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sendonce_cli.exits import CliError
from sendonce_store.spec import (
    ClusterNotificationProvider,
    ConfigMap,
    Document,
    Message,
    NotificationAction,
    NotificationCampaign,
    NotificationProvider,
    Problem,
    ProviderKind,
    Secret,
    SpecError,
    load_documents,
)

__all__ = ["Bundle", "CampaignDocument", "read_bundle"]

Provider = NotificationProvider | ClusterNotificationProvider


@dataclass(frozen=True, slots=True)
class CampaignDocument:
    """A campaign with the document that it stands in."""

    document: Document
    campaign: NotificationCampaign


@dataclass(frozen=True, slots=True)
class Bundle:
    """All documents that were given."""

    documents: tuple[Document, ...]

    def campaigns(self) -> list[CampaignDocument]:
        """The campaigns."""
        return [
            CampaignDocument(document, document.resource)
            for document in self.documents
            if isinstance(document.resource, NotificationCampaign)
        ]

    def campaign(self, name: str | None) -> CampaignDocument | None:
        """The campaign that is meant: the one of that name, else the only one; None where there is none at all."""
        found = self.campaigns()
        if name is not None:
            for one in found:
                if one.campaign.metadata.name == name:
                    return one
            raise CliError(f"--campaign: there is no NotificationCampaign {name} in these files")
        if len(found) > 1:
            names = ", ".join(one.campaign.metadata.name for one in found)
            raise CliError(f"these files hold {len(found)} campaigns: {names}; choose one with --campaign NAME")
        return found[0] if found else None

    def actions(self) -> list[NotificationAction]:
        """The actions, in order."""
        return [d.resource for d in self.documents if isinstance(d.resource, NotificationAction)]

    def providers(self) -> list[Document]:
        """The documents of providers of both kinds."""
        return [d for d in self.documents if isinstance(d.resource, Provider)]

    def provider_of(self, message: Message, namespace: str) -> Document | None:
        """The document of the provider that a message names."""
        ref = message.provider_ref
        for document in self.providers():
            resource = document.resource
            same = resource.kind == ref.kind.value and resource.metadata.name == ref.name
            cluster = ref.kind is ProviderKind.CLUSTER_NOTIFICATION_PROVIDER
            if same and (cluster or resource.metadata.namespace == namespace):
                return document
        return None

    def config_maps(self, namespace: str) -> dict[str, dict[str, bytes]]:
        """Name → key → content of the ConfigMaps of a namespace."""
        found = [d.resource for d in self.documents if isinstance(d.resource, ConfigMap)]
        return {one.metadata.name: one.files() for one in found if one.metadata.namespace == namespace}

    def secrets(self, namespace: str) -> dict[str, dict[str, bytes]]:
        """Name → key → content of the Secrets of a namespace."""
        found = [d.resource for d in self.documents if isinstance(d.resource, Secret)]
        return {one.metadata.name: one.files() for one in found if one.metadata.namespace == namespace}


def read_bundle(files: Sequence[str], namespace: str) -> Bundle:
    """Read files (`-` is standard input). Raises SpecError with all problems, CliError for an unreadable one."""
    texts = [(_name(file), _read(file)) for file in files]
    documents: list[Document] = []
    problems: list[Problem] = []
    for name, text in texts:
        try:
            documents += load_documents(text, name, namespace=namespace)
        except SpecError as error:
            problems += error.problems
    problems += _given_twice(documents)
    if problems:
        raise SpecError(problems)
    if not documents:
        raise CliError(f"{', '.join(name for name, _ in texts)}: no document in there; give a NotificationCampaign")
    return Bundle(tuple(documents))


def _name(file: str) -> str:
    return "<stdin>" if file == "-" else file


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CliError(
            f"{_name(file)}: {error.strerror}; give the path of a YAML file, or - for standard input"
        ) from None


def _given_twice(documents: Sequence[Document]) -> Iterator[Problem]:
    """The same object in two files; within one file, reading it has said so."""
    first: dict[tuple[str, str | None, str], Document] = {}
    for document in documents:
        metadata = document.resource.metadata
        earlier = first.setdefault((document.resource.kind, metadata.namespace, metadata.name), document)
        if earlier.source != document.source:
            message = (
                f"{document.resource.kind} {metadata.name} is in {earlier.source} too, line {earlier.line}; keep one"
            )
            yield document.problem(("metadata", "name"), message)
