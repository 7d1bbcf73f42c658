"""Files of a campaign: from ConfigMaps and Secrets, frozen by their sums."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from sendonce_rendering.attached import described
from sendonce_store.spec import Attachment
from sendonce_store.spec.attachments import LARGEST_ATTACHMENTS
from sendonce_store.spec.template_files import AttachmentError as FrozenError
from sendonce_store.spec.template_files import attachments_with_sums
from sendonce_worker.attaching import AttachmentError, load

SUM = hashlib.sha256(b"data").hexdigest()


def attachment(name: str = "terms.pdf", **more: Any) -> Attachment:
    source = {} if "secretKeyRef" in more else {"configMapKeyRef": {"name": "files", "key": "a"}}
    return Attachment.from_wire({"name": name, **source, **more})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for folder in ("configmaps/files", "secrets/files"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a").write_bytes(b"data")
    return tmp_path


def test_a_file_is_read_and_encoded_once(files: Path) -> None:
    secret = attachment("b", secretKeyRef={"name": "files", "key": "a"}, sha256=SUM)
    first, second = load([attachment(contentId="x"), secret], files)
    assert (first.media_type, first.content_id, first.sha256, first.base64) == (
        "application/pdf",
        "x",
        SUM,
        b"ZGF0YQ==\r\n",
    )
    assert (second.media_type, second.sha256) == ("application/octet-stream", SUM)


def test_a_file_that_has_changed_stops_the_worker(files: Path) -> None:
    (files / "configmaps" / "files" / "a").write_bytes(b"other")
    with pytest.raises(AttachmentError, match=rf"\[terms.pdf\]: key a of ConfigMap files has changed .* {SUM}"):
        load([attachment(sha256=SUM)], files)


def test_a_file_that_is_not_there_is_told(files: Path) -> None:
    missing = attachment(configMapKeyRef={"name": "files", "key": "b"})
    with pytest.raises(AttachmentError, match="key b of ConfigMap files is not there; create it"):
        load([missing], files)


def test_files_are_bounded_together(files: Path) -> None:
    (files / "configmaps" / "files" / "a").write_bytes(b"x" * (LARGEST_ATTACHMENTS // 2 + 1))
    with pytest.raises(AttachmentError, match="above 2,097,152 bytes together; link to them"):
        load([attachment("a"), attachment("b")], files)


def test_what_is_shown_needs_no_file() -> None:
    (shown,) = described([attachment(sha256=SUM)])
    assert (shown.name, shown.sha256, shown.base64) == ("terms.pdf", SUM, b"")


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("a.PNG", None, "image/png"),
        ("a", None, "application/octet-stream"),
        ("a.pdf", "text/plain", "text/plain"),
        ("a.eml", None, "application/octet-stream"),
        ("a", "multipart/mixed", "application/octet-stream"),
    ],
)
def test_the_media_type_is_that_of_the_name_unless_given(name: str, given: str | None, expected: str) -> None:
    assert attachment(name, contentType=given).media_type == expected


# --- when the campaign begins ----------------------------------------------------------------------------------------
KNOWN = {("files", "a"): b"data"}


def test_the_sum_of_a_file_in_a_config_map_is_noted() -> None:
    assert [one.sha256 for one in attachments_with_sums([attachment()], KNOWN)] == [SUM]
    assert [one.sha256 for one in attachments_with_sums([attachment(sha256=SUM)], KNOWN)] == [SUM]


@pytest.mark.parametrize(
    ("attachments", "known", "path", "words"),
    [
        ([attachment()], {}, ("attachments", 0, "configMapKeyRef"), "there is no ConfigMap files with the key a"),
        (
            [attachment(sha256="0" * 64)],
            KNOWN,
            ("attachments", 0, "sha256"),
            f"is not that of the file, which has {SUM}",
        ),
        (
            [attachment("a"), attachment("b")],
            {("files", "a"): b"x" * 1_048_577},
            ("attachments",),
            "are 2,097,154 bytes together, above 2,097,152",
        ),
    ],
)
def test_what_cannot_be_attached_is_told_with_its_place(
    attachments: list[Attachment], known: dict[tuple[str, str], bytes], path: Any, words: str
) -> None:
    with pytest.raises(FrozenError) as raised:
        attachments_with_sums(attachments, known)
    assert raised.value.path == path
    assert words in raised.value.message
