"""Providers, ready to be shown: the store's records in; states, budgets and what answers are taken for out. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from sendonce_console.look import amount, lasting
from sendonce_store.console_campaigns import Recent
from sendonce_store.console_providers import LateError, Limit, ProviderLine
from sendonce_store.masking import mask_foreign


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit: `said` "80 in 1 s", and how much of its burst is used."""

    said: str
    used: int
    burst: int


@dataclass(frozen=True, slots=True)
class ProviderView:
    """A provider. `state`: Suspended, ProviderPaused, or Ready; `type`: as in its spec."""

    provider: ProviderLine
    type: str
    state: str
    why: str
    per_second: float
    budgets: Sequence[Budget]


@dataclass(frozen=True, slots=True)
class Taken:
    """What an answer of the far end is taken for, and why; the first row that matches counts."""

    answer: str
    verdict: str
    why: str


def provider_views(
    providers: Sequence[ProviderLine], limits: Sequence[Limit], recent: Sequence[Recent], *, people: bool
) -> list[ProviderView]:
    """In the order of the providers."""
    return [
        ProviderView(
            one,
            str(one.spec.get("type", "")),
            _state(one),
            _why(one, people=people),
            sum(ended.ended / ended.seconds for ended in recent if ended.provider_id == one.id),
            [_budget(limit) for limit in limits if limit.provider_id == one.id],
        )
        for one in providers
    ]


def _state(one: ProviderLine) -> str:
    if one.suspended:
        return "Suspended"
    return "ProviderPaused" if one.paused else "Ready"


def _why(one: ProviderLine, *, people: bool) -> str:
    if one.suspended:
        return "Its kill switch is on (spec.suspend), or its object is gone: nothing is handed over."
    if not one.paused:
        return ""
    said = " ".join(filter(None, (one.pause_code, one.pause_message)))
    return said if people else mask_foreign(said)


def _budget(limit: Limit) -> Budget:
    return Budget(f"{amount(limit.messages)} in {lasting(limit.period_seconds)}", limit.used, limit.burst)


def masked_errors(errors: Sequence[LateError], *, people: bool) -> list[LateError]:
    """The far end's words, for whom they may be shown to."""
    return list(errors) if people else [replace(one, message=mask_foreign(one.message or "")) for one in errors]


def classification(spec: Mapping[str, Any]) -> list[Taken]:
    """What answers of this provider are taken for: its own rules, then those of its type."""
    rules = (spec.get("http") or {}).get("errorRules") or ()
    own = [Taken(_answer(rule), str(rule.get("as")), "a rule of this provider (errorRules)") for rule in rules]
    return own + [Taken(**row) for row in _tables().get(str(spec.get("type")), ())]


def _answer(rule: Mapping[str, Any]) -> str:
    said = [f"{name} {rule[name]}" for name in ("status", "code") if rule.get(name) is not None]
    return ", ".join(said) or "anything"


@cache
def _tables() -> dict[str, list[dict[str, str]]]:
    text = (files("sendonce_console") / "classification.json").read_text("utf-8")
    found: dict[str, list[dict[str, str]]] = json.loads(text)
    return found
