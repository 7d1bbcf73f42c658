"""Reads a Parquet file in a process of its own. It is run as a script, by `parquet_process`, and knows no other module.

A damaged file can make the native reader end its process, or ask for any amount of memory. Here that takes nothing with
it, and what memory there is has a bound. In: a file descriptor, how many rows to pass over, and the bytes of memory
that may be used. Out, on standard output: frames of a length (four bytes, little-endian) and JSON.

    {"columns": [[name, kind or null, type], …]}                          first; null: no value can be made of the type
    {"rows": 125, "values": [[…], …], "faults": [[row, column], …]}       the values of each column
    {"end": true} or {"error": "…"}                                       last

Decimals come as text, dates and times as ISO 8601. A fault is a date or time outside of the years 1 to 9999.
"""

import json
import re
import resource
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arro3.core import Array, DataType, RecordBatch, Scalar

# so many rows are decoded at once, which is quicker, and so many are handed on
_ROWS_DECODED = 1000
_ROWS_IN_FRAME = 125
_TYPE_SHOWN = 60
_WORDS_SHOWN = 200
_CONVERT: Mapping[str, Any] = {"decimal": str, "time": lambda value: value.isoformat()}
_FAULT = object()
# what stands around the reader's own words
_WRAPPED = re.compile(r'Err` value: \w+\("(.*)"\)$', re.DOTALL).search
_PREFIXES = ("C Data interface error: ", "Parquet argument error: ", "Parquet error: ", "External: ")


def frames(path: str, skip: int) -> Iterator[dict[str, Any]]:
    """The frames of a file, from the columns to the end."""
    from arro3.io import read_parquet  # noqa: PLC0415 # what it takes counts towards the bound

    reader = read_parquet(path, batch_size=_ROWS_DECODED)
    fields = [reader.schema.field(index) for index in range(len(reader.schema))]
    kinds = [kind_of(field.type) for field in fields]
    yield {"columns": [[field.name, kind, shown(field.type)] for field, kind in zip(fields, kinds, strict=True)]}
    for batch in reader:
        passed = min(skip, batch.num_rows)
        skip -= passed
        if passed < batch.num_rows:
            yield from _rows(batch.slice(passed), kinds)
    yield {"end": True}


def kind_of(data_type: "DataType") -> str | None:
    """What values of an Arrow type are to us; None: nothing that a recipient can have."""
    from arro3.core import DataType  # noqa: PLC0415

    # in its class the library's stub has a method named bool, which it then says the answer is
    encoded: object = DataType.is_dictionary(data_type)
    if encoded:
        return None if data_type.value_type is None else kind_of(data_type.value_type)
    known = {
        "text": (DataType.is_string, DataType.is_large_string, DataType.is_string_view),
        "integer": (DataType.is_integer,),
        "truth": (DataType.is_boolean,),
        "float": (DataType.is_floating,),
        "decimal": (DataType.is_decimal,),
        "time": (DataType.is_timestamp, DataType.is_date, DataType.is_time),
        "nothing": (DataType.is_null,),
    }
    return next((kind for kind, tests in known.items() if any(test(data_type) for test in tests)), None)


def shown(data_type: "DataType") -> str:
    """The type in a few words, as Arrow calls it."""
    text = str(data_type).partition("<")[2].rpartition(">")[0]
    return " ".join((text or "an unknown type").split())[:_TYPE_SHOWN]


def _rows(batch: "RecordBatch", kinds: list[str | None]) -> Iterator[dict[str, Any]]:
    columns = [_values(column, kind) for column, kind in zip(batch.columns, kinds, strict=True)]
    for start in range(0, batch.num_rows, _ROWS_IN_FRAME):
        values = [column[start : start + _ROWS_IN_FRAME] for column in columns]
        rows = min(_ROWS_IN_FRAME, batch.num_rows - start)
        faults = [[row, no] for no, column in enumerate(values) for row in _faults(column)]
        for row, no in faults:
            values[no][row] = None
        yield {"rows": rows, "values": values, "faults": faults}


def _values(column: "Array", kind: str | None) -> list[Any]:
    convert = _CONVERT.get(kind or "")
    try:
        values: list[Any] = list(column.to_pylist())
    except (ValueError, OverflowError):
        values = [_value(column[row]) for row in range(len(column))]
    if convert:
        return [value if value is None or value is _FAULT else convert(value) for value in values]
    return values


def _value(scalar: "Scalar") -> object:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return _FAULT


def _faults(column: list[Any]) -> Iterator[int]:
    return (row for row, value in enumerate(column) if value is _FAULT)


def words(error: BaseException) -> str:
    """What the reader says, without what is wrapped around it."""
    text = str(error)
    if wrapped := _WRAPPED(text):
        text = wrapped[1]
    elif "Err` value" in text:
        text = "what it says of itself cannot be understood"
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return " ".join(text.split())[:_WORDS_SHOWN]


def main(descriptor: str, skip: str, memory: str) -> None:
    """Read and write."""
    resource.setrlimit(resource.RLIMIT_DATA, (int(memory), int(memory)))
    try:
        for frame in frames(f"/proc/self/fd/{descriptor}", int(skip)):
            _write(frame)
    except BrokenPipeError:
        return
    except BaseException as error:  # noqa: BLE001 # a panic of the native reader is no Exception
        _write({"error": words(error)})


def _write(frame: dict[str, Any]) -> None:
    data = json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode()
    sys.stdout.buffer.write(len(data).to_bytes(4, "little") + data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
