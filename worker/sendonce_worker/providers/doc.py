"""The classification tables of docs/providers.md, written from the data that decides.

``python -m sendonce_worker.providers.doc docs/providers.md`` rewrites the part of that file between the two marks.
Another file gets the same as JSON, which the console shows. A test fails when a file and the data differ.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from sendonce_store.spec.channels import CHANNELS_OF_TYPE, Channel, ProviderType
from sendonce_worker.providers.api.batch import BatchApi
from sendonce_worker.providers.api.table import Row
from sendonce_worker.providers.http1.statuses import STATUS_RULES, StatusRule
from sendonce_worker.providers.http_api.answers import RULE_VERDICTS
from sendonce_worker.providers.registry import NAMED, api_of, facts_of
from sendonce_worker.providers.smtp.classification import RULES, Rule, Stage

BEGIN = "<!-- generated: python -m sendonce_worker.providers.doc docs/providers.md -->"
_NAMED = (*NAMED, ProviderType.APPRISE)
END = "<!-- end of the generated part -->"


def tables() -> str:
    """Return the generated part, marks included."""
    sections = [
        "### HTTP: by status, where no rule of the provider matches",
        _table(("status", "is", "why"), (_status_row(rule) for rule in STATUS_RULES)),
        "### HTTP: what `as` in an error rule means",
        _table(("`as`", "is"), ((f"`{name}`", str(verdict)) for name, verdict in RULE_VERDICTS.items())),
        "### SMTP: first matching row",
        _table(("reply to", "code", "enhanced", "words (regular expression)", "is", "why"), map(_smtp_row, RULES)),
        "### Named far ends: what each is like",
        _table(("type", "channels", "in one request", "a repeat with the same key", "default pace"), map(_row, _NAMED)),
        *(section for kind in _NAMED for section in _far_end(kind)),
    ]
    return "\n\n".join([BEGIN, *sections, END])


def renewed(text: str) -> str:
    """Return ``text`` with its generated part replaced. Raises ``ValueError`` if a mark is missing."""
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the file needs the two marks {BEGIN} and {END}")
    return before + tables() + after


def classification() -> dict[str, list[dict[str, str]]]:
    """Type of provider → rows: what is answered, what that is taken for, and why. The first row that matches counts."""
    statuses = [_described(("status",), _status_row(rule)) for rule in STATUS_RULES]
    smtp = [_described(("reply to", "code", "enhanced code", "words"), _smtp_row(rule)) for rule in RULES]
    found = {"HTTP": statuses, "SMTP": smtp}
    for kind in NAMED:
        found[str(kind)] = [
            _described(("status", "code", "words"), _api_row(row)) for row in api_of(kind).table
        ] + statuses
    return found


def _described(names: tuple[str, ...], cells: tuple[str, ...]) -> dict[str, str]:
    """A row of a table in words: its first cells by name, then the verdict and why."""
    told = zip(names, cells, strict=False)
    said = ", ".join(f"{name} {cell.strip('`')}" for name, cell in told if cell and cell != "any")
    verdict, why = cells[len(names) :]
    return {"answer": said.replace("\\|", "|") or "anything else", "verdict": verdict, "why": why}


def _status_row(rule: StatusRule) -> tuple[str, ...]:
    statuses = ", ".join(f"{one[0]}-{one[-1]}" if isinstance(one, range) else str(one) for one in rule.statuses)
    return statuses, str(rule.verdict), rule.why


def _smtp_row(rule: Rule) -> tuple[str, ...]:
    stages = "any" if rule.stages == frozenset(Stage) else ", ".join(stage for stage in Stage if stage in rule.stages)
    codes = ", ".join(code + "yz"[: 3 - len(code)] for code in rule.codes)
    words = f"`{rule.words.pattern}`".replace("|", "\\|") if rule.words else ""
    enhanced = ", ".join(rule.enhanced) or (rule.besides and f"none of {', '.join(rule.besides)}") or ""
    return stages, codes, enhanced, words, str(rule.kind), rule.why


def _row(kind: ProviderType) -> tuple[str, ...]:
    facts = facts_of(kind)
    channels = "all" if len(CHANNELS_OF_TYPE[kind]) == len(Channel) else ", ".join(CHANNELS_OF_TYPE[kind])
    return f"[{kind}](#{str(kind).lower()})", channels, _in_one_request(kind), facts.keys, facts.pace


def _in_one_request(kind: ProviderType) -> str:
    api = None if kind is ProviderType.APPRISE else api_of(kind)
    return f"up to {api.bounds.messages}" if api is not None and issubclass(api, BatchApi) else "1"


def _far_end(kind: ProviderType) -> list[str]:
    """Return the section of a named far end: its facts, then its table."""
    facts = facts_of(kind)
    lines = {
        "Secret": ", ".join(f"`{key}`" for key in facts.credentials),
        "To test it": facts.probe,
        "Refusals that come before acceptance": facts.before,
        "Checked before the hand-off": facts.sizes,
        "Our delivery id": facts.metadata,
        "Batch endpoint": facts.batch,
        "Source": facts.source,
    }
    told = "\n".join(f"- {name}: {text}" for name, text in lines.items())
    rows = () if kind is ProviderType.APPRISE else api_of(kind).table
    table = [_table(("status", "code", "words", "is", "why"), map(_api_row, rows))] if rows else []
    return [f"### {kind}", told, *table]


def _api_row(row: Row) -> tuple[str, ...]:
    status = ", ".join(f"{one[0]}-{one[-1]}" if isinstance(one, range) else str(one) for one in row.status)
    wait = f", after {row.wait:g} s unless it names a wait" if row.wait else ""
    return status or "any", _code(row.code), _code(row.words), f"{row.verdict}{wait}", row.why


def _code(pattern: str) -> str:
    return f"`{pattern}`".replace("|", "\\|") if pattern else ""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main(path: Path, data: Path | None = None) -> None:
    """Rewrite the file's generated part, and the data."""
    path.write_text(renewed(path.read_text("utf-8")), "utf-8")
    if data is not None:
        data.write_text(json.dumps(classification(), indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
