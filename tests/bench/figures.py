"""What was measured: rows in, `build/bench.json` and a table with targets out. No I/O but the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `ratio` is what it is compared by, where it is compared at all, and `ratio_to` names with what."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    ratio_to: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A bound on a row's ratio, or on its value where `of` says so."""

    name: str
    bound: float
    at_least: bool = True
    of: str = "ratio"

    def met(self, row: Row) -> bool:
        """Whether the row keeps it."""
        figure = row.value if self.of == "value" else row.ratio
        if figure is None:
            return False
        return figure >= self.bound if self.at_least else figure <= self.bound

    def __str__(self) -> str:
        """Show it as ≥ or ≤."""
        return f"{'≥' if self.at_least else '≤'} {self.bound:,g}"


TARGETS = (
    Target("http_one_worker", 1.0),
    Target("http_two_workers", 1.6),
    Target("http_vs_procrastinate", 15),
    Target("smtp_one_worker", 8),
    Target("smtp_two_workers", 13),
    Target("render_newsletter", 0.5),
    Target("import_rows_per_second", 50_000, of="value"),
    Target("import_memory_peak", 200, at_least=False, of="value"),
    Target("import_memory_growth", 1.1, at_least=False),
    *(Target(f"source_{name}_memory", 1.1, at_least=False) for name in ("http", "s3", "parquet", "postgres", "mysql")),
    Target("claim_with_history", 1.2, at_least=False),
    Target("pace_exceeded", 0, at_least=False, of="value"),
    Target("pace_used", 98, of="value"),
    Target("stream_latency", 1, at_least=False, of="value"),
    Target("operator_memory_peak", 200, at_least=False, of="value"),
    Target("operator_status_age", 5, at_least=False, of="value"),
    Target("operator_writes", 0.36, at_least=False),
    Target("operator_all_writes", 0.36, at_least=False),
    Target("memory_growth", 1.1, at_least=False),
    Target("console_slowest_page", 100, at_least=False, of="value"),
)
_BY_NAME = {target.name: target for target in TARGETS}


def middle(values: Iterable[float]) -> float:
    """The median."""
    return float(median(values))


def write(rows: Sequence[Row], path: Path) -> None:
    """Write the rows as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rounded = [
        asdict(row) | {"value": _short(row.value), "ratio": None if row.ratio is None else _short(row.ratio)}
        for row in rows
    ]
    path.write_text(json.dumps(rounded, indent=1) + "\n", "utf-8")


def _short(number: float) -> float:
    return float(f"{number:.4g}") if abs(number) < 1000 else round(number)


def table(rows: Sequence[Row]) -> str:
    """The rows as text, targets first."""
    ordered = sorted(rows, key=lambda row: row.name not in _BY_NAME)
    lines: list[tuple[str, ...]] = [("measure", "value", "", "ratio", "to", "target", "")]
    lines += [_cells(row, _BY_NAME.get(row.name)) for row in ordered]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cells(row: Row, target: Target | None) -> tuple[str, ...]:
    value = f"{row.value:,.0f}" if abs(row.value) >= 100 else f"{row.value:.3g}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    verdict = "" if target is None else ("met" if target.met(row) else "MISSED")
    return row.name, value, row.unit, ratio, row.ratio_to or "", "" if target is None else str(target), verdict
