"""NDJSON: whole lines in, one JSON object on each; recipients and refused rows out."""

import json
import math
import re
from collections.abc import Iterator

from .faults import BadFieldError
from .lines import split_lines
from .records import BLOCK_ROWS, TOO_LONG, Part
from .rows import MAX_DEPTH, Normaliser, Outcome, check_storable


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        message = f"the number {text[:20]} is too large"
        raise ValueError(message)
    return number


def _no_constant(name: str) -> float:
    message = f"{name} is not JSON"
    raise ValueError(message)


# jsonb keeps neither NaN nor Infinity, which Python's parser lets pass
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant)
# escapes that may stand for a NUL or half of a surrogate pair
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])").search


class NdjsonReader:
    """Reads one object per line. `line`: the number of lines that were consumed before."""

    def __init__(self, normaliser: Normaliser, line: int) -> None:
        self._normaliser = normaliser
        self._line = line

    def read(self, data: bytes, *, final: bool = False) -> Iterator[Part]:
        """Take whole lines. `final` makes no difference: a line is a record."""
        del final
        lines = split_lines(data)
        for start in range(0, len(lines), BLOCK_ROWS):
            chunk = lines[start : start + BLOCK_ROWS]
            joined = b"\n".join(chunk)
            at_end = start + len(chunk) == len(lines)
            ended = not at_end or data.endswith(b"\n")
            yield Part(self._parse(chunk, joined), joined + b"\n" if ended else joined, len(chunk))

    def refuse_long_line(self, head: bytes) -> Outcome:
        """The next line is too long."""
        self._line += 1
        excerpt = head[:1000].decode(errors="replace")
        return Outcome(rejected=[self._normaliser.reject(self._line, "row", TOO_LONG, excerpt)])

    def _parse(self, lines: list[bytes], joined: bytes) -> Outcome:
        outcome = Outcome()
        suspect = _SUSPECT(joined) is not None
        for raw in lines:
            self._line += 1
            if raw and not raw.isspace():
                self._record(raw, outcome, suspect=suspect)
        return outcome

    def _record(self, raw: bytes, outcome: Outcome, *, suspect: bool) -> None:
        problem, detail = "is not a JSON object", ""
        try:
            text = raw.decode()
            record = _DECODER.decode(text)
        except UnicodeDecodeError:
            problem = "is not valid UTF-8"
        except ValueError as error:
            detail = str(error)
        except RecursionError:
            problem = f"is nested more than {MAX_DEPTH} levels deep"
        else:
            if type(record) is dict:
                self._object(record, raw, outcome, suspect=suspect)
                return
        excerpt = raw[:1000].decode(errors="replace")
        outcome.rejected.append(self._normaliser.reject(self._line, "row", problem, excerpt, detail=detail))

    def _object(self, record: dict[str, object], raw: bytes, outcome: Outcome, *, suspect: bool) -> None:
        if suspect or raw.count(b"{") + raw.count(b"[") > MAX_DEPTH:
            try:
                check_storable(tuple(record), tuple(record.values()))
            except BadFieldError as error:
                outcome.rejected.append(self._normaliser.refuse(self._line, error))
                return
        self._normaliser.mapping(self._line, record, outcome)
