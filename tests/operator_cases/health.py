"""What tools make of a status that know nothing of Sendonce: the rules of kstatus, and the Lua for Argo CD."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from lupa import LuaRuntime

HEALTH_LUA = Path(__file__).parents[2] / "docs" / "argocd" / "health.lua"


def kstatus(wire: dict[str, Any], generation: int) -> str:
    """The rules of kstatus (cli-utils) for a kind that it does not know, with a status."""
    if wire.get("observedGeneration") != generation:
        return "InProgress"
    conditions = wire.get("conditions", [])
    for condition in conditions:
        if condition["type"] in {"Reconciling", "Stalled"} and condition["status"] == "True":
            return {"Reconciling": "InProgress", "Stalled": "Failed"}[condition["type"]]
    ready = [condition["status"] for condition in conditions if condition["type"] == "Ready"]
    return "Current" if ready in ([], ["True"]) else "InProgress"


def argocd(kind: str, wire: dict[str, Any] | None, generation: int = 1) -> tuple[str, str]:
    """Health and message that Argo CD shows."""
    lua = _runtime()
    body: dict[str, Any] = {"kind": kind, "metadata": {"generation": generation}}
    lua.globals().obj = lua.table_from(body if wire is None else body | {"status": wire}, recursive=True)
    found = lua.execute(_health_lua())
    return str(found.status), str(found.message)


@cache
def _health_lua() -> str:
    return HEALTH_LUA.read_text(encoding="utf-8")


@cache
def _runtime() -> Any:
    return LuaRuntime(unpack_returned_tuples=False)
