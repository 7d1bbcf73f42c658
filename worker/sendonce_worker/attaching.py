"""Attachments from files: what the frozen template says of them, and the mounted bytes, in; files ready for mails, out.

The bytes are read once, when a worker starts, and must be those that the campaign was begun with: their SHA-256 stands
in the frozen template. A file that was changed meanwhile stops the worker, rather than that some people get another
file than others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sendonce_rendering import AttachedFile
from sendonce_rendering.attached import encoded, sum_of
from sendonce_store.spec import Attachment
from sendonce_store.spec.attachments import LARGEST_ATTACHMENTS

__all__ = ["AttachmentError", "file_of", "load"]


class AttachmentError(Exception):
    """A file that cannot be attached; the message names the attachment, the problem and the fix."""


def load(attachments: Sequence[Attachment], files: Path) -> tuple[AttachedFile, ...]:
    """Read the files below `files`, where ConfigMaps and Secrets are mounted. Raises AttachmentError."""
    return tuple(_loaded(attachments, files))


def _loaded(attachments: Sequence[Attachment], files: Path) -> Iterator[AttachedFile]:
    room = LARGEST_ATTACHMENTS
    for one in attachments:
        data = _read(one, files)
        room -= len(data)
        if room < 0:
            raise AttachmentError(f"attachments are above {LARGEST_ATTACHMENTS:,} bytes together; link to them instead")
        found = sum_of(data)
        if one.sha256 is not None and found != one.sha256:
            words = f"has changed since the campaign was begun: bring back the file with SHA-256 {one.sha256}"
            raise AttachmentError(f"attachments[{one.name}]: {_place(one)} {words}")
        yield AttachedFile(one.name, one.media_type, one.content_id, found, encoded(data))


def _read(one: Attachment, files: Path) -> bytes:
    path = file_of(one, files)
    try:
        return path.read_bytes()
    except OSError:
        message = f"attachments[{one.name}]: {_place(one)} is not there; create it in the campaign's namespace"
        raise AttachmentError(message) from None


def file_of(one: Attachment, files: Path) -> Path:
    """Return where the file of an attachment is mounted."""
    ref = one.config_map_key_ref or one.secret_key_ref
    if ref is None:
        raise ValueError(one.name)
    return files / ("configmaps" if one.config_map_key_ref else "secrets") / ref.name / ref.key


def _place(one: Attachment) -> str:
    ref = one.config_map_key_ref or one.secret_key_ref
    kind = "ConfigMap" if one.config_map_key_ref else "Secret"
    return f"key {ref.key} of {kind} {ref.name}" if ref else one.name
