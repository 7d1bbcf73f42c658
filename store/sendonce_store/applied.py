"""Who applied an object, as the object says it itself: metadata in, a name out. Nobody proves it.

An API server notes which tool wrote a field, not which person. The annotation is for whoever knows better: a pipeline,
an admission policy, or `sendonce run`, which puts in the account of the machine.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from typing import Any

APPLIED_BY = "sendonce.dev/applied-by"
_LONGEST = 253


def applied_by(metadata: Mapping[str, Any]) -> str | None:
    """The annotation, else the tool that wrote the spec last."""
    told = (metadata.get("annotations") or {}).get(APPLIED_BY)
    writers = [one for one in metadata.get("managedFields") or () if "f:spec" in (one.get("fieldsV1") or {})]
    last: Mapping[str, Any] = max(writers, key=lambda one: str(one.get("time") or ""), default={})
    found = told or last.get("manager")
    return str(found)[:_LONGEST] if found else None


def account() -> str:
    """The account on this machine."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # a user without a name, as in a container
        return "somebody at this machine"
