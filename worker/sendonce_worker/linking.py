"""The links of one channel's messages: a person in, their `unsubscribe_url`, `preferences_url` and headers out; no I/O.

The same person has the same links at each rendering, so that a retry sends the same bytes, and whoever shows a message
again shows these. A variable of the sender's own with such a name stays the sender's, and so does a header.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from sendonce_rendering import CompiledMessage, Content
from sendonce_store.link_tokens import Purpose, Sealer, Wish
from sendonce_store.links import LinkKey, Links
from sendonce_store.spec import CampaignSpec, Category, Channel
from sendonce_store.variables import Addressee, template_variables

__all__ = ["LINK_VARIABLES", "Linking", "rendered", "sample_links"]

_PATHS: Mapping[Purpose, str] = {"unsubscribe": "u", "preferences": "p"}
LINK_VARIABLES: Mapping[str, Purpose] = {"unsubscribe_url": "unsubscribe", "preferences_url": "preferences"}
# RFC 8058 §3.1: both, and the signature of the mail must cover them
_ONE_CLICK = ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")


class Linking:
    """Makes the links of one channel's messages. `used`: the names that its template looks up."""

    def __init__(self, links: Links, spec: CampaignSpec, channel: str, template: CompiledMessage) -> None:
        self._channel = channel
        self._about = (spec.category.value, spec.topic or "")
        used = template.variables_used()
        self._makers = {name: _maker(links, LINK_VARIABLES[name]) for name in LINK_VARIABLES if name in used}
        own = {name.lower() for name, _ in template.headers}
        bulk_mail = channel == Channel.EMAIL.value and spec.category is Category.MARKETING
        self._header = _maker(links, "unsubscribe") if bulk_mail and "list-unsubscribe" not in own else None

    def variables(self, person: Addressee) -> dict[str, object]:
        """Those that the template uses and the person does not have."""
        if not self._makers:
            return {}
        wish = self._wish(person)
        return {name: make(wish) for name, make in self._makers.items() if name not in person.variables}

    def headed(self, content: Content, person: Addressee) -> Content:
        """The content with the headers of one-click unsubscribing, if it is to have them."""
        if self._header is None:
            return content
        link = ("List-Unsubscribe", f"<{self._header(self._wish(person))}>")
        return replace(content, headers=(*content.headers, link, _ONE_CLICK))

    def _wish(self, person: Addressee) -> Wish:
        return Wish(self._channel, *self._about, person.addresses[self._channel][1])


def _maker(links: Links, purpose: Purpose) -> Callable[[Wish], str]:
    sealer, place = Sealer(links.key, purpose), f"{links.url}/{_PATHS[purpose]}/"
    return lambda wish: place + sealer.seal(wish)


def rendered(template: CompiledMessage, person: Addressee, links: Linking | None) -> Content:
    """A message as the worker hands it off. Raises RenderError."""
    content = template.render(template_variables(person, links))
    return content if links is None else links.headed(content, person)


def sample_links(
    spec: CampaignSpec, templates: Mapping[str, CompiledMessage], gateway: str | None
) -> dict[str, Linking]:
    """Links by channel as the messages will have them, under a key that no store has: as long, but good for nothing."""
    if gateway is None:
        return {}
    links = Links(gateway, LinkKey(bytes(8), "", bytes(range(64))))
    return {channel: Linking(links, spec, channel, template) for channel, template in templates.items()}
