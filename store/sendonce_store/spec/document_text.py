"""From the bytes of a file to its documents as plain data: decoding, limits, splitting, JSON.

Flows in: what was read from a file or a pipe. Flows out: the raw documents, numbered from 1, and the problems of those
that cannot be read; a broken document does not hide the problems of the next one.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from sendonce_store.spec.problems import Problem, SpecError, field_name
from sendonce_store.spec.yaml_tree import RawDocument, YamlFault, read_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_BYTES", "decode", "read_documents"]

MAX_BYTES = 16 * 1024 * 1024
"""Size of a file of documents; a cluster takes far less per object."""

_MARKER = re.compile(r"^---(?=\s|$)", re.MULTILINE)
# the characters that YAML 1.1 allows in a stream (section 5.1)
_UNREADABLE = re.compile("[^\x09\x0a\x0d\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# raw tabs are white space in JSON and never part of a string; these line breaks of YAML are always part of one
_AS_IN_YAML = str.maketrans({"\t": " ", "\x85": "\\x85", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_SURROGATES = re.compile(r"\\\\|\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def decode(content: str | bytes, source: str) -> str:
    """Return the text without a byte order mark.

    Raises SpecError if it is too large, is not UTF-8 or has control characters.
    """
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        message = f"is {size:,} bytes long; the limit is {MAX_BYTES:,}. Keep recipients in a file of their own"
        raise SpecError([Problem(source, 1, 1, "", message)])
    text = content if isinstance(content, str) else _decode_utf8(content, source)
    text = text.removeprefix("\ufeff")
    if found := _UNREADABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        message = f"has the character U+{ord(found.group()):04X}, which YAML does not allow; remove it"
        raise SpecError([Problem(source, 1, line, "", message)])
    return text


def _decode_utf8(content: bytes, source: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 (byte 0x{content[error.start]:02X}); save the file as UTF-8"
        raise SpecError([Problem(source, 1, line, "", message)]) from None


def read_documents(text: str, source: str) -> tuple[list[tuple[int, RawDocument]], list[Problem]]:
    """Return the documents with their numbers (empty ones don't count), and the problems of unreadable ones."""
    documents: list[tuple[int, RawDocument]] = []
    problems: list[Problem] = []
    number = 1
    for first_line, chunk in _chunks(text):
        try:
            for document in read_stream(_as_yaml(chunk), first_line):
                if document.data is not None:
                    documents.append((number, document))
                    problems += _duplicates(document, source, number)
                    number += 1
        except YamlFault as fault:
            problems.append(Problem(source, number, fault.line, field_name(fault.path), fault.message))
            number += 1
    return documents, problems


def _duplicates(document: RawDocument, source: str, number: int) -> Iterator[Problem]:
    for path, line in document.duplicates:
        message = f"is given twice, first in line {document.line_at(path)}; keep one"
        yield Problem(source, number, line, field_name(path), message)


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Split at the document markers, as kubectl does, so that one document can't break the others."""
    ends = [*(found.start() for found in _MARKER.finditer(text)), len(text)]
    held = 0
    for end in ends:
        # %YAML and %TAG belong to the document behind the next marker
        if end < len(text) and _only_directives(text[held:end]):
            continue
        if text[held:end].strip():
            yield text.count("\n", 0, held) + 1, text[held:end]
        held = end


def _only_directives(chunk: str) -> bool:
    lines = [line for line in chunk.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return bool(lines) and all(line.startswith("%") for line in lines)


def _as_yaml(chunk: str) -> str:
    """Return JSON in a form that YAML 1.1 parsers take too; lines stay where they are."""
    if not chunk.lstrip().startswith("{"):
        return chunk
    try:
        json.loads(chunk)
    except (ValueError, RecursionError):
        return chunk
    return _SURROGATES.sub(_joined, chunk.translate(_AS_IN_YAML))


def _joined(found: re.Match[str]) -> str:
    if found[1] is None:
        return found[0]
    code = 0x10000 + ((int(found[1], 16) - 0xD800) << 10) + (int(found[2], 16) - 0xDC00)
    return f"\\U{code:08x}"
