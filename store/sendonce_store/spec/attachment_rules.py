"""The rules of attachments that look at more than one field, and their table; see `campaign_rules`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.rules import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.attachments import Attachment
    from sendonce_store.spec.problems import Path


def one_file(attachment: Attachment) -> Iterator[Path]:
    """A file comes from exactly one place."""
    if (attachment.config_map_key_ref is None) == (attachment.secret_key_ref is None):
        yield ()


def secret_file_has_a_sum(attachment: Attachment) -> Iterator[Path]:
    """Who begins a campaign can't read Secrets, and the content is frozen by its sum."""
    if attachment.secret_key_ref is not None and attachment.sha256 is None:
        yield ("sha256",)


ATTACHMENT_RULES: tuple[Rule[Attachment], ...] = (
    Rule(
        name="attachment-has-one-file",
        scope="spec.messages[*].template.attachments[*]",
        field="",
        message="exactly one file is needed: keep one of configMapKeyRef, secretKeyRef",
        cel="has(self.configMapKeyRef) != has(self.secretKeyRef)",
        breaches=one_file,
    ),
    Rule(
        name="secret-file-has-a-sum",
        scope="spec.messages[*].template.attachments[*]",
        field="sha256",
        message="is required with secretKeyRef: set what `sha256sum FILE` prints",
        cel="!has(self.secretKeyRef) || has(self.sha256)",
        breaches=secret_file_has_a_sum,
    ),
)
