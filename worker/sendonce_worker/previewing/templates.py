"""Templates before a campaign exists: ConfigMaps and files from `Materials`, and where in the document a mistake is.

Flows in: a message's template and the files beside the documents. Flows out: the template that is frozen with the
campaign, and every problem with its path inside the template.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path as FilePath

from sendonce_rendering import TemplateError
from sendonce_store.spec import Attachment, Path, Template, TemplateVariant
from sendonce_store.spec.template_files import (
    TEXT_KEYS,
    AttachmentError,
    attachments_with_sums,
    filled,
    text_parts,
    with_parts,
)
from sendonce_worker.attaching import file_of
from sendonce_worker.previewing.materials import Materials

__all__ = ["place_of", "resolved_template"]

Found = list[tuple[Path, str]]
_VARIANT = re.compile(r"variants\[([^\]]*)\]\.")


def resolved_template(template: Template, materials: Materials) -> tuple[Template, Found]:
    """Return the template with its ConfigMaps read into it and the sums of its files, and what is wrong with those."""
    problems: Found = []
    parts = [_read(part, path, materials, problems) for path, part in text_parts(template)]
    merged = with_parts(parts)
    missing = list(_missing(merged.attachments, materials))
    problems += missing
    return (merged if missing else _summed(merged, materials, problems)), problems


def _read(
    part: Template | TemplateVariant, path: Path, materials: Materials, problems: Found
) -> Template | TemplateVariant:
    if part.config_map_ref is None:
        return part
    here: Path = (*path, "configMapRef", "name")
    name = part.config_map_ref.name
    keys = materials.config_map(name)
    if not keys:
        problems.append((here, materials.missing("ConfigMap", name)))
        return part
    texts: dict[str, str] = {}
    for key in TEXT_KEYS:
        try:
            texts |= {key: keys[key].read_bytes().decode()} if key in keys else {}
        except UnicodeDecodeError:
            problems.append((here, f"key {key} of ConfigMap {name} is not UTF-8 text; save it as such"))
    return filled(part, texts)


# --- attachments -----------------------------------------------------------------------------------------------------
def _missing(attachments: tuple[Attachment, ...], materials: Materials) -> Iterator[tuple[Path, str]]:
    for no, one in enumerate(attachments):
        for field, kind, ref in (
            ("configMapKeyRef", "ConfigMap", one.config_map_key_ref),
            ("secretKeyRef", "Secret", one.secret_key_ref),
        ):
            if ref is not None and not file_of(one, materials.root).is_file():
                yield ("attachments", no, field), materials.missing(kind, ref.name, ref.key)


def _summed(template: Template, materials: Materials, problems: Found) -> Template:
    """Note the sums of what stands in ConfigMaps, and hold what stands in Secrets against theirs."""
    files = {}
    for no, one in enumerate(template.attachments):
        path = file_of(one, materials.root)
        if one.config_map_key_ref is not None:
            files[one.config_map_key_ref.name, one.config_map_key_ref.key] = path.read_bytes()
        elif (found := _sum(path)) != one.sha256:
            problems.append((("attachments", no, "sha256"), f"is not that of the file, which has {found}"))
    try:
        attachments = attachments_with_sums(template.attachments, files)
    except AttachmentError as error:
        problems.append((error.path, error.message))
        return template
    return template.model_copy(update={"attachments": attachments})


def _sum(path: FilePath) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# --- mistakes --------------------------------------------------------------------------------------------------------
def place_of(template: Template, error: TemplateError) -> tuple[Path, str]:
    """Return where in a template a mistake stands, and what to say of it there."""
    line = "" if error.line is None else f"line {error.line} of the template: "
    path, part, rest = _part(template, error.field)
    field = rest.partition(".")[0]
    own = getattr(part, {"from": "from_", "replyTo": "reply_to"}.get(field, field), None)
    if own is None and part.config_map_ref is not None and field in TEXT_KEYS:
        where = f"ConfigMap {part.config_map_ref.name}, key {field}: "
        return (*path, "configMapRef"), f"{where}{line}{error.message}"
    return (*path, field), f"{line}{error.message}"


def _part(template: Template, field: str) -> tuple[Path, Template | TemplateVariant, str]:
    """Return the template, or the variant that the field begins with, and the rest of the field's name."""
    found = _VARIANT.match(field)
    for no, variant in enumerate(template.variants):
        if found is not None and found[1] == variant.locale:
            return ("variants", no), variant, field[found.end() :]
    return (), template, field
