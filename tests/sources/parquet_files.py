"""Parquet files for tests and benchmarks."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

from arro3.core import Array, DataType, RecordBatch, Table
from arro3.io import write_parquet

Values = Array | Sequence[str | None]


def parquet(columns: Mapping[str, Values], **options: Any) -> bytes:
    """A file with these columns; a list is one of text. `options` are those of arro3's `write_parquet`."""
    arrays: dict[str, Any] = {
        name: values if isinstance(values, Array) else texts(values) for name, values in columns.items()
    }
    return written(Table.from_pydict(arrays), **options)


def written(table: Table, **options: Any) -> bytes:
    """A file of a table."""
    buffer = io.BytesIO()
    write_parquet(table, buffer, **options)
    return buffer.getvalue()


def texts(values: Sequence[str | None], of: DataType | None = None) -> Array:
    """An array of text, or of another type that Arrow makes of text."""
    array = Array(list(values), type=DataType.utf8())
    return array if of is None else array.cast(of)


def integers(values: Sequence[int | None], of: DataType | None = None) -> Array:
    """An array of integers, or of another type that Arrow makes of them."""
    array = Array(list(values), type=DataType.int64())
    return array if of is None else array.cast(of)


def nested(values: Sequence[str]) -> Array:
    """An array of structures with one field."""
    return RecordBatch.from_pydict({"inner": texts(values)}).to_struct_array()


def people(count: int, **options: Any) -> bytes:
    """So many people with an address and a name."""
    columns = {
        "email": [f"p{number}@example.com" for number in range(count)],
        "name": [f"Person {number}" for number in range(count)],
    }
    return parquet(columns, **options)
