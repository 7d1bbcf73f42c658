"""The rules of `spec.recipients` that look at more than one field, and their tables; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.recipients import ExpectedCount, HttpSource, Recipients


ALL_PERCENT = 100
FILES = frozenset({"configMapKeyRef", "secretKeyRef", "http", "s3"})
"""The sources that are files."""


def one_source(recipients: Recipients) -> Iterator[Path]:
    """Recipients come from exactly one place."""
    given = recipients.sources()
    if not given:
        yield ()
    yield from ((source,) for source in given[1:])


def files_have_a_format(recipients: Recipients) -> Iterator[Path]:
    """The format of a file is never guessed."""
    if recipients.format is None and FILES & set(recipients.sources()):
        yield ("format",)


def inline_ids_are_unique(recipients: Recipients) -> Iterator[Path]:
    """An id names one recipient."""
    seen: set[str] = set()
    for no, recipient in enumerate(recipients.inline or ()):
        if recipient.id in seen:
            yield ("inline", no, "id")
        if recipient.id is not None:
            seen.add(recipient.id)


def a_stream_has_no_count(recipients: Recipients) -> Iterator[Path]:
    """Of a stream nobody knows beforehand how many will come."""
    counted = recipients.expected is not None or recipients.max_rejected_percent < ALL_PERCENT
    filed = recipients.format is not None or recipients.compression != "None"
    if recipients.stream is not None and (counted or filed):
        yield ("stream",)


def count_range_is_a_range(expected: ExpectedCount) -> Iterator[Path]:
    """The least expected count is not above the greatest."""
    if expected.min is not None and expected.max is not None and expected.min > expected.max:
        yield ("min",)


def one_address_of_the_file(source: HttpSource) -> Iterator[Path]:
    """A file has one URL, written down or in a Secret."""
    if source.url is None and source.url_secret_key_ref is None:
        yield ()
    if source.url is not None and source.url_secret_key_ref is not None:
        yield ("url",)


RECIPIENTS_RULES: tuple[Rule[Recipients], ...] = (
    Rule(
        name="one-source",
        scope="spec.recipients",
        field="",
        message="exactly one source is needed: keep one of inline, configMapKeyRef, secretKeyRef, http, s3, "
        "postgres, mysql, stream",
        cel="[has(self.inline), has(self.configMapKeyRef), has(self.secretKeyRef), has(self.http), has(self.s3), "
        "has(self.postgres), has(self.mysql), has(self.stream)]"
        ".exists_one(given, given)",
        breaches=one_source,
    ),
    Rule(
        name="files-have-a-format",
        scope="spec.recipients",
        field="format",
        message="is required for a file, because it is never guessed: set CSV, NDJSON or Parquet",
        cel="has(self.format) || !(has(self.configMapKeyRef) || has(self.secretKeyRef) || has(self.http) || "
        "has(self.s3))",
        breaches=files_have_a_format,
    ),
    Rule(
        name="inline-ids-are-unique",
        scope="spec.recipients",
        field="inline[*].id",
        message="is used by an earlier recipient; give each its own id",
        cel="!has(self.inline) || [self.inline.map(one, has(one.id), one.id)].all(ids, "
        "ids.all(one, ids.exists_one(other, other == one)))",
        breaches=inline_ids_are_unique,
    ),
    Rule(
        name="a-stream-has-no-count",
        scope="spec.recipients",
        field="stream",
        message="has no format, compression, expected or maxRejectedPercent: those are for lists; leave them out",
        cel="!has(self.stream) || (!has(self.format) && self.compression == 'None' && !has(self.expected) && "
        "self.maxRejectedPercent == 100)",
        breaches=a_stream_has_no_count,
    ),
)
EXPECTED_RULES: tuple[Rule[ExpectedCount], ...] = (
    Rule(
        name="count-range",
        scope="spec.recipients.expected",
        field="min",
        message="must not be greater than max; swap or widen",
        cel="!has(self.min) || !has(self.max) || self.min <= self.max",
        breaches=count_range_is_a_range,
    ),
)
HTTP_SOURCE_RULES: tuple[Rule[HttpSource], ...] = (
    Rule(
        name="one-url",
        scope="spec.recipients.http",
        field="",
        message="exactly one of url and urlSecretKeyRef is needed; a presigned URL belongs in a Secret",
        cel="has(self.url) != has(self.urlSecretKeyRef)",
        breaches=one_address_of_the_file,
    ),
)
