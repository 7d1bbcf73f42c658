"""YAML is read as kubectl reads it. The expected values were made by sigs.k8s.io/yaml v1.6.0 itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from sendonce_store.spec import to_yaml
from sendonce_store.spec.document_text import read_documents
from sendonce_store.spec.yaml_tree import MAX_DEPTH, MAX_VALUES, YamlFault, read_stream

PARSERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


def read(text: str) -> Any:
    documents, problems = read_documents(text, "x.yaml")
    assert problems == []
    (document,) = documents
    return document[1].data


def faults(text: str) -> list[tuple[int, str, str]]:
    return [(p.line, p.field, p.message) for p in read_documents(text, "x.yaml")[1]]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("22:00", "22:00"),
        ("09:00", "09:00"),
        ("190:20:30", "190:20:30"),
        ("2026-11-30", "2026-11-30"),
        ("2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z"),
        ("2026-11-30 12:00:00", "2026-11-30 12:00:00"),
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")),
        *((word, False) for word in ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")),
        ("tRUE", "tRUE"),
        ("'y'", "y"),
        ('"22:00"', "22:00"),
        ("~", None),
        ("null", None),
        ("Null", None),
        ("NULL", None),
        ("", None),
        ("nULL", "nULL"),
        ("=", "="),
        ("1", 1),
        ("+1", 1),
        ("-1", -1),
        ("-0", 0),
        ("00", 0),
        ("010", 8),
        ("-010", -8),
        ("0o17", 15),
        ("0_7", 7),
        ("08", 8),
        ("0o8", "0o8"),
        ("0x1F", 31),
        ("-0x1F", -31),
        ("0b11", 3),
        ("-0b11", -3),
        ("0b12", "0b12"),
        ("0x", "0x"),
        ("0x_1", 1),
        ("1_000", 1000),
        ("1__0", 10),
        ("1_", 1),
        ("_1", "_1"),
        ("685_230.15", 685230.15),
        ("1.5_0", 1.5),
        ("1_2e3", 12000),
        ("0.1", 0.1),
        ("1.", 1),
        ("1.0", 1),
        (".5", 0.5),
        (".7_7", 0.77),
        (".7_", ".7_"),
        ("._7", "._7"),
        ("+.5", 0.5),
        ("1e3", 1000),
        ("1E+3", 1000),
        ("1.e3", 1000),
        ("12e03", 12000),
        ("1.5e-7", 1.5e-7),
        ("1e-400", 0),
        ("1e400", "1e400"),
        ("1e20", 10**20),
        ("1e21", 1e21),
        ("9223372036854775808", 2**63),
        ("12345678901234567890", 12345678901234567890),
        ("123456789012345678901234567890", 1.2345678901234568e29),
        ("0xFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFF"),
        ("--1", "--1"),
        ("1-", "1-"),
        ("1.2.3", "1.2.3"),
        (".e3", ".e3"),
        (".", "."),
        ("..", ".."),
        ("e3", "e3"),
        ("+15005550006", 15005550006),
        ("!!str 5", "5"),
        ("!!str 2026-11-30", "2026-11-30"),
        ("!!str", ""),
        ("! 5", "5"),
        ('!!int "5"', 5),
        ("!!float 5", 5),
        ('!!bool "yes"', True),
        ('!!null ""', None),
        ("http://example.com/x?y=a:b", "http://example.com/x?y=a:b"),
    ],
)
def test_a_value_means_what_it_means_to_kubectl(parser: Any, written: str, expected: object) -> None:
    (document,) = read_stream(f"a: {written}", parser=parser)
    assert isinstance(document.data, dict)
    value = document.data["a"]
    assert (type(value), value) == (type(expected), expected)


@pytest.mark.parametrize(
    ("written", "expected"),
    [("y", "true"), ("on", "true"), ("no", "false"), ("5", "5"), ("1.50", "1.5"), ("22:00", "22:00"), ("a b", "a b")],
)
def test_a_key_becomes_the_text_that_kubectl_makes_of_it(written: str, expected: str) -> None:
    assert read(f"{written}: x") == {expected: "x"}


@pytest.mark.parametrize(
    "text",
    [
        "b: &b {x: 1, z: 2}\nc: {<<: *b, x: 9}",
        "b: &b {x: 1, z: 2}\nc: {x: 9, <<: *b}",
        "b: &b {x: 1, z: 2}\nc: {<<: [*b, {x: 3, z: 4}], x: 9}",
    ],
)
def test_a_merge_key_adds_what_is_not_written_out(text: str) -> None:
    assert read(text)["c"] == {"x": 9, "z": 2}


def test_a_quoted_merge_key_is_a_key_like_any_other() -> None:
    assert read('"<<": {a: 1}') == {"<<": {"a": 1}}


def test_an_anchor_can_be_used_again() -> None:
    assert read("a: &a [1, {b: 2}]\nc: *a\nd: *a") == {
        "a": [1, {"b": 2}],
        "c": [1, {"b": 2}],
        "d": [1, {"b": 2}],
    }


def test_a_later_anchor_of_the_same_name_replaces_the_earlier() -> None:
    assert read("[&a 1, *a, &a 2, *a]") == [1, 1, 2, 2]


def test_aliases_that_multiply_are_refused_before_they_use_memory() -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    text += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10))
    (fault,) = faults(text)
    assert fault[0] == 6
    assert f"{MAX_VALUES:,} values" in fault[2]


@pytest.mark.parametrize("parser", PARSERS)
def test_a_document_that_is_nested_too_deep_is_refused(parser: Any) -> None:
    assert list(read_stream("a: " + "[" * MAX_DEPTH + "]" * MAX_DEPTH, parser=parser))
    for depth in (MAX_DEPTH + 1, 100_000):
        with pytest.raises(YamlFault, match=r"nested more than 64 levels|exceeded maximum nesting depth"):
            list(read_stream("a: " + "[" * depth, parser=parser))


@pytest.mark.parametrize(
    ("text", "line", "field", "message"),
    [
        ("a: 1\nb: 2\na: 3", 3, "a", "is given twice, first in line 1; keep one"),
        ("a:\n  yes: 1\n  true: 2", 3, "a.true", "is given twice, first in line 2; keep one"),
        ("a: &a [*a]", 1, "a[0]", "the alias *a has no finished anchor before it"),
        ("- *x", 1, "[0]", "the alias *x has no finished anchor before it"),
        ("a: .inf", 1, "a", "infinity and NaN are no JSON numbers; write a number, or put it in quotes"),
        ("a: .nan", 1, "a", "infinity and NaN are no JSON numbers; write a number, or put it in quotes"),
        ("a: !!int x", 1, "a", "this is no int; remove the tag !!int"),
        ("a: !!int 5.5", 1, "a", "this is no int; remove the tag !!int"),
        ("a: !!int yes", 1, "a", "this is no int; remove the tag !!int"),
        ("a: !!binary aGVsbG8=", 1, "a", "the tag !!binary is not supported; remove it"),
        ("a: !!set {b, c}", 1, "a", "the tag !!set is not supported; remove it"),
        ("a: !x [b]", 1, "a", "the tag !x is not supported; remove it"),
        (
            "a: !!python/object/apply:os.system [ls]",
            1,
            "a",
            "the tag !!python/object/apply:os.system is not supported; remove it",
        ),
        ("a:\n  ~: 5", 2, "a", "a key must not be empty; put it in quotes"),
        ("a: {{ name }}", 1, "a", "a key must be plain text; put a value that begins with {{, { or [ in quotes"),
        ("a: {<<: 5}", 1, "a", "<< needs a mapping or a list of mappings"),
    ],
)
def test_what_json_does_not_have_is_refused_with_its_place(text: str, line: int, field: str, message: str) -> None:
    assert faults(text) == [(line, field, message)]


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("a:\n\tb: 1", 2, "; indent with spaces, not tabs"),
        ("a: b: c", 1, "; put a value that contains ': ' in quotes"),
        ("a: {% if x %}", 1, "; put a value that begins with {{ or {% in quotes"),
        ("a: [1", 1, ""),
        ("a: 'x", 1, ""),
        ("a: 1\n b: 2", 2, ""),
        ("a: @x", 1, ""),
    ],
)
def test_broken_yaml_is_refused_with_its_line_and_a_hint(text: str, line: int, hint: str) -> None:
    ((at, field, message),) = faults(text)
    assert (at, field) == (line, "")
    assert message.startswith("is not valid YAML: ")
    assert message.endswith(hint)


@pytest.mark.parametrize("parser", PARSERS)
def test_half_a_surrogate_pair_is_refused(parser: Any) -> None:
    with pytest.raises(YamlFault):
        list(read_stream('a: "\\ud800"', parser=parser))


def test_lines_are_those_of_the_keys_and_list_entries() -> None:
    text = "# comment\na:\n  b:\n  - c: 1\n\n  - d: 2\n    e: |\n      text\n"
    ((_, document),) = read_documents(text, "x.yaml")[0]
    assert document.line == 2
    assert document.line_at(("a", "b", 0, "c")) == 4
    assert document.line_at(("a", "b", 1)) == 6
    assert document.line_at(("a", "b", 1, "e")) == 7
    assert document.line_at(("a", "b", 1, "missing", "deeper")) == 6
    assert document.line_at(("missing",)) == 2


def test_lines_are_those_of_the_file_and_not_of_the_document() -> None:
    documents, problems = read_documents("a: 1\n---\n\nb: 2\n--- # comment\nc: [\n---\nd: 4\nd: 5\n", "x.yaml")
    assert [(n, d.line, d.data) for n, d in documents] == [(1, 1, {"a": 1}), (2, 4, {"b": 2}), (4, 8, {"d": 4})]
    assert [(p.document, p.line) for p in problems] == [(3, 6), (4, 9)]


@pytest.mark.parametrize(
    "text",
    [
        "---\na: 1\n",
        "a: 1\n---\n",
        "---\n---\n# nothing\n---\na: 1\n---\n~\n",
        "%YAML 1.1\n---\na: 1\n",
        "# comment\n\n%YAML 1.1\n---\na: 1\n",
        "--- {a: 1}\n",
        "a: 1\n...\n",
        "a: 1\r\n---\r\n",
    ],
)
def test_markers_directives_and_empty_documents_do_not_count(text: str) -> None:
    assert read(text) == {"a": 1}


def test_dashes_inside_a_text_do_not_split_the_document() -> None:
    assert read("a: |\n  one\n  ---\n  two\nb: '--- '\n") == {"a": "one\n---\ntwo\n", "b": "--- "}


@pytest.mark.parametrize(
    "value",
    [{"a": "😀 \u0007 / \\ \\ud83d"}, {"a": {"b": [1, -2.5, True, None, "22:00", "yes"]}}, {}, {"é": "\u2028\u0085"}],
)
@pytest.mark.parametrize("indent", [None, "\t", 2])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_json_is_read_as_json(value: object, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert read(text) == value


def test_json_in_which_a_slash_is_escaped_is_read() -> None:
    assert read('{"a": "https:\\/\\/example.com"}') == {"a": "https://example.com"}


@pytest.mark.parametrize(
    "text",
    [
        "y",
        "N",
        "on",
        "22:00",
        "010",
        "1e3",
        "~",
        "",
        "null",
        ".inf",
        "a: b",
        "{{ x }}",
        "<<",
        "=",
        "a\n  b\n",
        " a",
        "#",
    ],
)
def test_yaml_that_is_written_here_means_the_same_to_kubectl(text: str) -> None:
    assert read(to_yaml({"a": text, "b": [text]})) == {"a": text, "b": [text]}


def test_times_are_written_in_quotes_and_texts_as_blocks() -> None:
    assert to_yaml({"to": "21:00", "text": "a\nb\n", "name": "x"}) == "to: '21:00'\ntext: |\n  a\n  b\nname: x\n"


def test_several_documents_are_written_as_one_stream() -> None:
    assert to_yaml({"a": 1}, {"b": 2}) == "a: 1\n---\nb: 2\n"
