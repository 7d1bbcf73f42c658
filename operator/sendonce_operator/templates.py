"""ConfigMaps of templates: a campaign's messages in, the same with the texts of their ConfigMaps read into them, out.

Fields that are given in the template come first, as `sendonce run` has it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sendonce_operator.decisions import refusal
from sendonce_operator.objects import Campaign
from sendonce_operator.paths import config_map
from sendonce_operator.runtime import Runtime
from sendonce_operator.signals import RefusedError
from sendonce_store.spec import CampaignSpec, Channel, Message

_FIELDS = ("subject", "text", "html")


async def with_templates(runtime: Runtime, campaign: Campaign, spec: CampaignSpec) -> CampaignSpec:
    """The spec with every ConfigMap read into it. Raises RefusedError where one is missing, ClusterError."""
    messages = [await _with_template(runtime, campaign, no, message) for no, message in enumerate(spec.messages)]
    return spec.model_copy(update={"messages": tuple(messages)})


async def _with_template(runtime: Runtime, campaign: Campaign, no: int, message: Message) -> Message:
    ref = message.template.config_map_ref
    if ref is None:
        return message
    place = f"spec.messages[{no}].template.configMapRef"
    found = await runtime.cluster.find(config_map(campaign.key.namespace, ref.name))
    if found is None:
        what = f"{place}: ConfigMap {ref.name}"
        raise RefusedError(refusal.missing(campaign.subject, what, runtime.now(), "InvalidSpec"))
    return _merged(message, found.get("data") or {}, place)


def _merged(message: Message, texts: Mapping[str, str], place: str) -> Message:
    template = message.template
    given = {name: texts[name] for name in _FIELDS if name in texts and getattr(template, name) is None}
    merged = template.model_copy(update={**given, "config_map_ref": None})
    if message.channel is Channel.EMAIL and merged.subject is None:
        words = "an Email needs a subject: add the key `subject` to the ConfigMap, or `subject` to the template"
        raise RefusedError(refusal.invalid_field(place, words))
    if merged.text is None and merged.html is None:
        words = "the ConfigMap has neither the key `text` nor `html`: add one of them"
        raise RefusedError(refusal.invalid_field(place, words))
    return message.model_copy(update={"template": merged})
