"""ConfigMaps of templates: a campaign's messages in, the same with what their ConfigMaps hold, out.

Texts are read into the template and its variants; fields that are given there come first, as `sendonce run` has it. Of
attached files the SHA-256 is noted: workers read them themselves, and send no others. A template that can't be compiled
is refused here, while an edit still mends it.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from sendonce_operator.decisions import refusal
from sendonce_operator.objects import Campaign
from sendonce_operator.paths import config_map
from sendonce_operator.runtime import Runtime
from sendonce_operator.signals import RefusedError
from sendonce_rendering import TemplateError, check_message
from sendonce_store.spec import CampaignSpec, Channel, Message, Path, Template, field_name
from sendonce_store.spec.template_files import AttachmentError, attachments_with_sums, filled, text_parts, with_parts

Body = Mapping[str, Any]


async def with_templates(runtime: Runtime, campaign: Campaign, spec: CampaignSpec) -> CampaignSpec:
    """The spec with every ConfigMap read into it. Raises RefusedError where one is missing, ClusterError."""
    messages = [await _with_template(runtime, campaign, no, message) for no, message in enumerate(spec.messages)]
    return spec.model_copy(update={"messages": tuple(messages)})


async def _with_template(runtime: Runtime, campaign: Campaign, no: int, message: Message) -> Message:
    place: Path = ("spec", "messages", no, "template")
    parts = []
    for path, part in text_parts(message.template):
        here = field_name((*place, *path, "configMapRef"))
        ref = part.config_map_ref
        parts.append(part if ref is None else filled(part, await _texts(runtime, campaign, here, ref.name)))
    template = with_parts(parts)
    if message.template.config_map_ref is not None:
        _require_whole(message.channel, template, field_name((*place, "configMapRef")))
    await _require_sound(message.channel, template, place)
    template = await _with_sums(runtime, campaign, place, template)
    return message.model_copy(update={"template": template})


async def _found(runtime: Runtime, campaign: Campaign, place: str, name: str) -> Body:
    found = await runtime.cluster.find(config_map(campaign.key.namespace, name))
    if found is None:
        what = f"{place}: ConfigMap {name}"
        raise RefusedError(refusal.missing(campaign.subject, what, runtime.now(), "InvalidSpec"))
    return found


async def _texts(runtime: Runtime, campaign: Campaign, place: str, name: str) -> Mapping[str, str]:
    return (await _found(runtime, campaign, place, name)).get("data") or {}


def _require_whole(channel: Channel, merged: Template, place: str) -> None:
    if channel is Channel.EMAIL and merged.subject is None:
        words = "an Email needs a subject: add the key `subject` to the ConfigMap, or `subject` to the template"
        raise RefusedError(refusal.invalid_field(place, words))
    if (merged.text, merged.html, merged.mjml) == (None,) * 3:
        words = "the ConfigMap has none of the keys `text`, `html` and `mjml`: add one of them"
        raise RefusedError(refusal.invalid_field(place, words))


async def _require_sound(channel: Channel, template: Template, place: Path) -> None:
    """Compile it: not in the loop, as a large one takes a while."""
    try:
        await asyncio.to_thread(check_message, template, channel.value)
    except TemplateError as error:
        line = "" if error.line is None else f", line {error.line}"
        words = refusal.invalid_field(f"{field_name(place)}.{error.field}{line}", error.message)
        raise RefusedError(words) from error


# --- attachments -----------------------------------------------------------------------------------------------------
async def _with_sums(runtime: Runtime, campaign: Campaign, place: Path, template: Template) -> Template:
    files: dict[tuple[str, str], bytes] = {}
    for no, attachment in enumerate(template.attachments):
        ref = attachment.config_map_key_ref
        if ref is not None and (ref.name, ref.key) not in files:
            here = field_name((*place, "attachments", no, "configMapKeyRef"))
            files |= {(ref.name, key): data for key, data in _files(await _found(runtime, campaign, here, ref.name))}
    try:
        attachments = attachments_with_sums(template.attachments, files)
    except AttachmentError as error:
        words = refusal.invalid_field(field_name((*place, *error.path)), error.message)
        raise RefusedError(words) from error
    return template.model_copy(update={"attachments": attachments})


def _files(found: Body) -> list[tuple[str, bytes]]:
    """Key and content of a ConfigMap; the API server keeps base64 in `binaryData` sound."""
    texts, bytes_ = found.get("data") or {}, found.get("binaryData") or {}
    plain = [(key, text.encode()) for key, text in texts.items()]
    return [*plain, *((key, base64.b64decode(text)) for key, text in bytes_.items())]
