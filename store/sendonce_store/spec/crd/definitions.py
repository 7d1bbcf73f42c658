"""A whole CustomResourceDefinition per kind, as data and as the text of its file."""

from __future__ import annotations

from pydantic import JsonValue

from sendonce_store.spec.crd.kinds import CATEGORY, GROUP, RESOURCES, VERSION, ResourceKind
from sendonce_store.spec.crd.schema import Schema, structural
from sendonce_store.spec.crd.validations import with_rules
from sendonce_store.spec.yaml_writer import to_yaml

__all__ = ["definition", "files", "schema_of"]

_KUBERNETES_FIELDS: dict[str, Schema] = {
    "apiVersion": {"type": "string", "description": f"{GROUP}/{VERSION}"},
    "kind": {"type": "string", "description": "The kind of the object."},
    "metadata": {"type": "object"},
}


def files() -> dict[str, str]:
    """Return the name and the text of each file of crds/."""
    return {f"{GROUP}_{resource.plural}.yaml": _text(resource) for resource in RESOURCES}


def _text(resource: ResourceKind) -> str:
    return "# Written by `make crds` from the models in store/sendonce_store/spec.\n" + to_yaml(definition(resource))


def definition(resource: ResourceKind) -> dict[str, JsonValue]:
    """Return the CustomResourceDefinition of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": resource.crd_name, "labels": {"app.kubernetes.io/part-of": "sendonce"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "names": _names(resource),
            "versions": [_version(resource)],
        },
    }


def _names(resource: ResourceKind) -> dict[str, JsonValue]:
    return {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "singular": resource.kind.lower(),
        "shortNames": [resource.short_name],
        "categories": [CATEGORY],
    }


def _version(resource: ResourceKind) -> dict[str, JsonValue]:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column.to_wire() for column in resource.columns],
        "selectableFields": [{"jsonPath": path} for path in resource.selectable],
        "schema": {"openAPIV3Schema": schema_of(resource)},
    }


def schema_of(resource: ResourceKind) -> Schema:
    """Return the structural schema of a kind with its rules; what Kubernetes defines itself is left to it."""
    schema = structural(resource.model)
    schema["required"] = ["spec"]
    schema["properties"] |= _KUBERNETES_FIELDS
    return with_rules(schema, resource.model)
