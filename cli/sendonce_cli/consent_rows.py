"""Rows of consent: CSV in; suppressions and opt-outs with normalised addresses, or what is wrong with a row, out."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sendonce_cli.exits import CliError
from sendonce_store.addresses import NORMALISERS, FieldError
from sendonce_store.consent import REASONS, OptOut, Suppression
from sendonce_store.spec import Category, Channel
from sendonce_store.spec.base import RESOURCE_LABEL

__all__ = ["OPT_OUT_COLUMNS", "SUPPRESSION_COLUMNS", "Entry", "normalised_entry", "read_entries"]

Entry = Suppression | OptOut
SUPPRESSION_COLUMNS = ("channel", "address", "reason")
OPT_OUT_COLUMNS = ("channel", "address", "category", "topic")
_CHANNELS = {channel.value.lower(): channel.value for channel in Channel}
_CATEGORIES = {category.value.lower(): category.value for category in Category}
_LONGEST_TOPIC = 63


def read_entries(file: Path, *, opt_out: bool) -> tuple[list[Entry], list[str]]:
    """All rows of a file: the good ones, and a line about each bad one. Raises CliError for what is no such file."""
    name = "<stdin>" if str(file) == "-" else str(file)
    reader = csv.DictReader(io.StringIO(_text(file, name), newline=""), strict=True)
    good: list[Entry] = []
    bad: list[str] = []
    try:
        _check_header(name, reader.fieldnames, opt_out=opt_out)
        for line, values in _rows(reader):
            entry = (
                "has more fields than the header names" if "" in values else normalised_entry(values, opt_out=opt_out)
            )
            if isinstance(entry, str):
                bad.append(f"{name}:{line}: {entry}")
            else:
                good.append(entry)
    except csv.Error as error:
        raise CliError(
            f"{name}:{reader.line_num}: is not CSV: {error}; quote values that hold quotes or line breaks"
        ) from None
    return good, bad


def _text(file: Path, name: str) -> str:
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise CliError(f"{name}: {error.strerror}; give the path of a CSV file, or - for standard input") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise CliError(f"{name}:{line}: is not UTF-8; save it as UTF-8") from None


def _check_header(name: str, header: object, *, opt_out: bool) -> None:
    needed = OPT_OUT_COLUMNS[:3] if opt_out else SUPPRESSION_COLUMNS
    found = [str(column).strip() for column in header] if isinstance(header, list) else []
    missing = [column for column in needed if column not in found]
    if missing:
        wanted = ",".join(OPT_OUT_COLUMNS if opt_out else SUPPRESSION_COLUMNS)
        had = ",".join(found) or "nothing"
        raise CliError(f"{name}:1: has no column {' or '.join(missing)}; the header must be {wanted} (found: {had})")


def _rows(reader: csv.DictReader[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    before = reader.line_num
    for values in reader:
        yield before + 1, {(key or "").strip(): value for key, value in values.items()}
        before = reader.line_num


def normalised_entry(values: Mapping[str, str | None], *, opt_out: bool) -> Entry | str:
    """The entry of a row, or what is wrong with it."""
    channel = _CHANNELS.get((values.get("channel") or "").strip().lower())
    if channel is None:
        return f"channel: {values.get('channel')!r} is none of {', '.join(_CHANNELS.values())}"
    text = (values.get("address") or "").strip()
    if not text:
        return "address: is empty"
    try:
        address = NORMALISERS[channel](text).normalised
    except FieldError as error:
        return f"address: {error.reason}"
    return _opt_out(channel, address, values) if opt_out else _suppression(channel, address, values)


def _suppression(channel: str, address: str, values: Mapping[str, str | None]) -> Entry | str:
    reason = (values.get("reason") or "").strip().lower()
    if reason not in REASONS:
        return f"reason: {values.get('reason')!r} is none of {', '.join(REASONS)}"
    return Suppression(channel, address, reason)


def _opt_out(channel: str, address: str, values: Mapping[str, str | None]) -> Entry | str:
    category = _CATEGORIES.get((values.get("category") or "").strip().lower())
    if category is None:
        return f"category: {values.get('category')!r} is none of {', '.join(_CATEGORIES.values())}"
    topic = (values.get("topic") or "").strip()
    if topic and (len(topic) > _LONGEST_TOPIC or not re.match(RESOURCE_LABEL, topic)):
        return f"topic: {topic[:63]!r} is no topic: letters, digits, '-', '_' and '.', at most {_LONGEST_TOPIC}"
    return OptOut(channel, address, category, topic)
