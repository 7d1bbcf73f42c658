"""`spec.messages[].template.attachments`: files that every mail of the campaign carries.

A file stands in a ConfigMap or a Secret and is frozen by its SHA-256: of a ConfigMap it is noted when the campaign
begins, of a Secret, which only the workers can read, it is written in the campaign.
"""

from __future__ import annotations

import mimetypes
from typing import Annotated, Any, ClassVar

from pydantic import Field

from sendonce_store.spec.attachment_rules import ATTACHMENT_RULES
from sendonce_store.spec.base import CONTENT_ID, FILE_NAME, MEDIA_TYPE, SHA_256, SpecModel
from sendonce_store.spec.metadata import ConfigMapKeyRef, SecretKeyRef
from sendonce_store.spec.rules import Rule

__all__ = ["LARGEST_ATTACHMENTS", "MOST_ATTACHMENTS", "Attachment"]

MOST_ATTACHMENTS = 10
LARGEST_ATTACHMENTS = 2 * 1024 * 1024
"""Bytes of all attachments of a message together, before base64 makes a third more of them."""

# what mimetypes knows depends on the machine: these must not
_BYTES = "application/octet-stream"
_TYPES = mimetypes.MimeTypes(filenames=())


class Attachment(SpecModel):
    """A file that every mail of the campaign carries."""

    name: Annotated[str, Field(pattern=FILE_NAME, min_length=1, max_length=128)] = Field(
        description="File name that people see, such as terms.pdf; unique."
    )
    content_type: Annotated[str, Field(pattern=MEDIA_TYPE, max_length=127)] | None = Field(
        default=None, description="Media type; absent: by the ending of the name, else application/octet-stream."
    )
    content_id: Annotated[str, Field(pattern=CONTENT_ID, min_length=1, max_length=64)] | None = Field(
        default=None, description='Makes it an inline file, which html names: `<img src="cid:logo">`.'
    )
    config_map_key_ref: ConfigMapKeyRef | None = Field(default=None, description="The file, in a ConfigMap.")
    secret_key_ref: SecretKeyRef | None = Field(default=None, description="The file, in a Secret; needs sha256.")
    sha256: Annotated[str, Field(pattern=SHA_256, max_length=64)] | None = Field(
        default=None,
        description="SHA-256 of the file, in 64 lower-case hex digits; another file is refused. Of a ConfigMap it is "
        "noted when the campaign begins.",
    )

    RULES: ClassVar[tuple[Rule[Any], ...]] = ATTACHMENT_RULES

    @property
    def media_type(self) -> str:
        """The media type that counts."""
        found = self.content_type or _TYPES.guess_type(self.name, strict=True)[0] or _BYTES
        # RFC 2046 §5.1 and §5.2: of these, the body must not be in base64
        return _BYTES if found.lower().startswith(("multipart/", "message/")) else found
