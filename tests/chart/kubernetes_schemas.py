"""Kubernetes' own schemas, of each version: an object in, complaints out. Unknown fields are complaints.

The files are those of kubernetes-validate; each version's definitions are read once.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from referencing import Registry, Resource

VERSIONS = tuple(f"1.{minor}" for minor in range(30, 38))
# What the Prometheus operator brings, Kubernetes does not know.
FOREIGN = ("monitoring.coreos.com",)


@cache
def _definitions(version: str) -> Any:
    return Resource.from_contents(_read(version, "_definitions")) @ Registry()


def _read(version: str, name: str) -> Any:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}.0-local-strict"
    return json.loads((folder / f"{name}.json").read_text("utf-8"))


@cache
def _validator(version: str, kind: str, api_version: str) -> Any:
    # rbac.authorization.k8s.io/v1 → rbac-v1
    group_and_version = re.sub(r"^([^./]*)(?:[.][^/]*)?/", r"\1-", api_version)
    schema = _read(version, f"{kind.lower()}-{group_and_version}")
    registry = Resource.from_contents(schema) @ _definitions(version)
    return jsonschema.validators.Draft202012Validator(schema, registry=registry)


def complaints(body: dict[str, Any], version: str) -> list[str]:
    """What a version of Kubernetes has to say of an object."""
    if body["apiVersion"].startswith(FOREIGN):
        return []
    name = f"{body['kind']}/{body['metadata']['name']}"
    found = _validator(version, body["kind"], body["apiVersion"]).iter_errors(body)
    return [f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]
