"""What went out to a person, rendered once more: a campaign and a delivery in, the content with its verdict out. Pure.

Template, variables and links are those that the campaign was frozen with, so that the same bytes come out.
"""

from __future__ import annotations

from collections.abc import Callable

from sendonce_rendering import CompiledMessage, RenderError, TemplateError
from sendonce_rendering.showing import Shown, Verdict, compiled, held_against
from sendonce_store.links import Links
from sendonce_store.people import Delivery, Person
from sendonce_store.spec import CampaignSpec, Message
from sendonce_worker.linking import Linking, rendered

__all__ = ["shown_again"]


def shown_again(
    spec: CampaignSpec,
    person: Person,
    delivery: Delivery,
    links: Links | None,
    compiling: Callable[[Message], CompiledMessage] = compiled,
) -> Shown:
    """Render the frozen message of the delivery's channel, and hold it against the digest of what was handed off."""
    message = next((one for one in spec.messages if one.channel.value == delivery.channel), None)
    if message is None:
        return Shown(Verdict.UNRENDERABLE, f"the campaign has no message for {delivery.channel}")
    try:
        template = compiling(message)
        linking = Linking(links, spec, delivery.channel, template) if links else None
        return held_against(rendered(template, person, linking), delivery.digest)
    except (TemplateError, RenderError) as error:
        return Shown(Verdict.UNRENDERABLE, str(error))
