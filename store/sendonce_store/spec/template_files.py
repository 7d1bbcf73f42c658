"""What a template leaves to ConfigMaps: their texts are read into it, and the sums of its files noted, once.

Flows in: a template and what the ConfigMaps hold. Flows out: the template that is frozen with the campaign, which
refers to no text any more, and to files by their SHA-256. Pure: the operator and `sendonce run` bring the contents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from sendonce_store.spec.attachments import LARGEST_ATTACHMENTS, Attachment
from sendonce_store.spec.messages import Template, TemplateVariant
from sendonce_store.spec.problems import Path

__all__ = ["TEXT_KEYS", "AttachmentError", "attachments_with_sums", "filled", "text_parts", "with_parts"]

TEXT_KEYS = ("subject", "text", "html", "mjml")
"""Keys of a ConfigMap that a template reads."""
_OTHER_FORM = {"html": "mjml", "mjml": "html"}


class AttachmentError(Exception):
    """A file that cannot be attached. `path` is relative to the template, `message` says what is wrong and the fix."""

    def __init__(self, path: Path, message: str) -> None:
        """Keep the parts."""
        super().__init__(path, message)
        self.path = path
        self.message = message


def text_parts(template: Template) -> Sequence[tuple[Path, Template | TemplateVariant]]:
    """Return the template and its variants, each with its path relative to the template."""
    return [((), template), *((("variants", no), variant) for no, variant in enumerate(template.variants))]


def filled(part: Template | TemplateVariant, texts: Mapping[str, str]) -> Template | TemplateVariant:
    """Return a template or variant with the texts of its ConfigMap; fields that it gives itself come first."""
    given = {key: texts[key] for key in TEXT_KEYS if key in texts and not _has(part, key)}
    return part.model_copy(update={**given, "config_map_ref": None})


def _has(part: Template | TemplateVariant, key: str) -> bool:
    """Say whether the part gives this itself; html and mjml are two forms of one thing."""
    return any(getattr(part, name) is not None for name in (key, _OTHER_FORM.get(key, key)))


def with_parts(parts: Sequence[Template | TemplateVariant]) -> Template:
    """Return the template of `text_parts` with its variants, after each was filled."""
    template, *variants = parts
    if not isinstance(template, Template):
        raise TypeError(type(template))
    return template.model_copy(update={"variants": tuple(variants)}) if variants else template


def attachments_with_sums(
    attachments: Sequence[Attachment], files: Mapping[tuple[str, str], bytes]
) -> tuple[Attachment, ...]:
    """Return attachments with the sums of those that stand in ConfigMaps: `files` by (name, key).

    Raises AttachmentError for one that is not there, is not the file of its `sha256`, or is too large.
    """
    room = LARGEST_ATTACHMENTS
    result = []
    for no, one in enumerate(attachments):
        ref = one.config_map_key_ref
        if ref is not None:
            here: Path = ("attachments", no, "configMapKeyRef")
            data = files.get((ref.name, ref.key))
            if data is None:
                raise AttachmentError(here, f"there is no ConfigMap {ref.name} with the key {ref.key}; create it")
            room -= len(data)
            result.append(_summed(one, data, ("attachments", no, "sha256")))
        else:
            result.append(one)
    if room < 0:
        most = LARGEST_ATTACHMENTS
        message = f"are {most - room:,} bytes together, above {most:,}; link to the files instead"
        raise AttachmentError(("attachments",), message)
    return tuple(result)


def _summed(attachment: Attachment, data: bytes, here: Path) -> Attachment:
    found = hashlib.sha256(data).hexdigest()
    if attachment.sha256 not in {None, found}:
        raise AttachmentError(here, f"is not that of the file, which has {found}; has the file changed?")
    return attachment.model_copy(update={"sha256": found})
