"""ConfigMaps of a template, as the operator reads them when a campaign begins."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import pytest
from tests.unit.operator_io.conftest import CAMPAIGN_BODY, Recorder

from sendonce_operator.objects import Campaign
from sendonce_operator.runtime import Runtime
from sendonce_operator.signals import RefusedError
from sendonce_operator.templates import with_templates
from sendonce_store.spec import CampaignSpec, Template

HELD = {
    "data": {"subject": "held", "text": "held", "html": "<p>", "a.txt": "é"},
    "binaryData": {"logo.png": base64.b64encode(b"\x89PNG").decode()},
}
FILE = {"configMapKeyRef": {"name": "held", "key": "logo.png"}}


async def read(runtime: Runtime, campaign: Campaign, **template: Any) -> Template:
    message = {**CAMPAIGN_BODY["spec"]["messages"][0], "template": {"from": "n@example.com", **template}}
    spec = CampaignSpec.from_wire({**CAMPAIGN_BODY["spec"], "messages": [message]})
    return (await with_templates(runtime, campaign, spec)).messages[0].template


async def test_texts_are_read_into_template_and_variants(
    runtime: Runtime, campaign: Campaign, cluster: Recorder
) -> None:
    cluster.live = HELD
    ref = {"configMapRef": {"name": "held"}}
    found = await read(runtime, campaign, subject="own", mjml="<mjml/>", **ref, variants=[{"locale": "pt", **ref}])
    assert (found.subject, found.text, found.html, found.mjml) == ("own", "held", None, "<mjml/>")
    (variant,) = found.variants
    assert (variant.subject, variant.text, variant.html, variant.config_map_ref) == ("held", "held", "<p>", None)


async def test_the_sums_of_files_are_noted(runtime: Runtime, campaign: Campaign, cluster: Recorder) -> None:
    cluster.live = HELD
    text = {"configMapKeyRef": {"name": "held", "key": "a.txt"}}
    files = [{"name": "logo.png", **FILE}, {"name": "a.txt", **text}]
    found = await read(runtime, campaign, subject="s", text="t", attachments=files)
    assert [one.sha256 for one in found.attachments] == [
        hashlib.sha256(data).hexdigest() for data in (b"\x89PNG", "é".encode())
    ]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (
            {
                "subject": "s",
                "text": "t",
                "attachments": [{"name": "a", "configMapKeyRef": {"name": "held", "key": "b"}}],
            },
            "spec.messages[0].template.attachments[0].configMapKeyRef: there is no ConfigMap held with the key b",
        ),
        (
            {"text": "t", "attachments": [{"name": "a", **FILE, "sha256": "0" * 64}]},
            "spec.messages[0].template.attachments[0].sha256: is not that of the file",
        ),
    ],
)
async def test_a_file_that_cannot_be_attached_is_told_with_its_field(
    runtime: Runtime, campaign: Campaign, cluster: Recorder, template: dict[str, Any], words: str
) -> None:
    cluster.live = HELD
    with pytest.raises(RefusedError) as raised:
        await read(runtime, campaign, **{"subject": "s", **template})
    assert raised.value.refusal.message.startswith(words)


async def test_a_config_map_that_is_not_there_is_waited_for(runtime: Runtime, campaign: Campaign) -> None:
    with pytest.raises(RefusedError) as raised:
        await read(
            runtime, campaign, subject="s", text="t", variants=[{"locale": "pt", "configMapRef": {"name": "pt"}}]
        )
    assert "spec.messages[0].template.variants[0].configMapRef: ConfigMap pt" in raised.value.refusal.message
