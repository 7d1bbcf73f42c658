"""Records as plain data, for JSON and YAML: frozen dataclasses in, objects with camelCase names out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum

from sendonce_store.spec.base import wire_name

__all__ = ["as_data"]


def as_data(value: object) -> object:
    """Plain JSON data: records with camelCase names, times in ISO 8601, bytes in hex."""
    if is_dataclass(value) and not isinstance(value, type):
        return {wire_name(field.name): as_data(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [as_data(item) for item in value]
    return _scalar(value)


def _scalar(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
