"""What a person should know of a campaign's messages before they are sent: costs of text messages, odds of mails.

Flows in: the checked campaign, and every message that a preview renders. Flows out: sentences. Pure. Sources: RFC 8058
and the sender rules that large mailbox providers publish (one-click unsubscribe for bulk mail), RFC 7489 §3.1
(alignment of From with what DKIM and SPF vouch for).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from sendonce_rendering import Content
from sendonce_rendering.sms import PLAINER, outside, segments
from sendonce_store.spec import CampaignSpec, Category, Channel, Message, ProviderSpec
from sendonce_worker.providers.errors import PermanentSendError
from sendonce_worker.providers.smtp.addresses import address_field

__all__ = ["TextCosts", "mail_advice", "segments_told"]

# mailbox providers whose own DMARC policy has mail in their name refused that others send
_MAILBOXES = frozenset({
    "aol.com", "gmail.com", "googlemail.com", "gmx.de", "gmx.net", "hotmail.com", "icloud.com", "live.com", "mail.ru",
    "outlook.com", "web.de", "yahoo.co.jp", "yahoo.com", "yandex.ru",
})  # fmt: skip
_MOST_CHARACTERS = 5
# messages that are rendered for their costs: more take longer than they tell
_MOST_MESSAGES = 100_000


# --- text messages ---------------------------------------------------------------------------------------------------
def segments_told(text: str) -> str:
    """Say how one text travels: `GSM-7, 172 of 306 characters, 2 segments`."""
    found = segments(text)
    parts = "segment" if found.count == 1 else "segments"
    return f"{found.encoding}, {found.units} of {found.room} characters, {found.count} {parts}"


@dataclass(slots=True)
class TextCosts:
    """The segments of all text messages of a campaign. `price`: of one segment, in any currency."""

    price: Decimal | None = None
    messages: int = 0
    parts: int = 0
    wide: int = 0
    longest: int = 0
    characters: Counter[str] = field(default_factory=Counter)
    curable: int = 0  # messages that only lack plainer characters
    saved: int = 0  # segments that these would save

    @property
    def enough(self) -> bool:
        """Whether so many messages were counted that the others are not looked at."""
        return self.messages >= _MOST_MESSAGES

    def take(self, text: str) -> None:
        """Count one message."""
        found = segments(text)
        self.messages += 1
        self.parts += found.count
        self.longest = max(self.longest, found.count)
        odd = outside(text)
        if not odd:
            return
        self.wide += 1
        self.characters.update(odd)
        if odd <= PLAINER.keys():
            self.curable += 1
            self.saved += found.count - segments("".join(_plain(one) for one in text)).count

    def told(self) -> Iterator[str]:
        """Say what the text messages cost together, and what makes them dear."""
        if not self.messages:
            return
        cost = f", {self.price * self.parts:,f} at {self.price:f} each" if self.price is not None else ""
        which = "the first " if self.enough else ""
        yield f"SMS: {which}{self.messages:,} messages are {self.parts:,} segments{cost}; at most {self.longest} each"

    def warned(self) -> Iterator[str]:
        """Say which characters make messages dear."""
        if not self.wide:
            return
        shown = ", ".join(_shown(one, count) for one, count in self.characters.most_common(_MOST_CHARACTERS))
        yield (
            f"SMS: {self.wide:,} of {self.messages:,} messages have characters outside GSM-7, and so 70 instead of 160 "
            f"in a segment: {shown}"
        )
        if self.saved > 0:
            yield f"SMS: with plainer characters {self.curable:,} messages would be {self.saved:,} segments less"


def _plain(character: str) -> str:
    plainer = PLAINER.get(character, character)
    return {"a space": " ", "nothing": ""}.get(plainer, plainer)


def _shown(character: str, count: int) -> str:
    visible = f"{character} " if character.isprintable() and not character.isspace() else ""
    cure = f", write {PLAINER[character]}" if character in PLAINER else ""
    return f"{visible}(U+{ord(character):04X}{cure}) in {count:,}"


# --- mails -----------------------------------------------------------------------------------------------------------
def mail_advice(
    spec: CampaignSpec, message: Message, provider: ProviderSpec | None, shown: list[Content], *, linked: bool = False
) -> list[str]:
    """Return what mailbox providers may hold against a mail.

    `shown`: as some recipients would get it. `linked`: the gateway's headers are added where the template has none.
    """
    if message.channel is not Channel.EMAIL:
        return []
    return [*_unsubscribing(spec, message, linked=linked), *_sender(provider, shown)]


def _unsubscribing(spec: CampaignSpec, message: Message, *, linked: bool) -> Iterator[str]:
    names = {name.lower() for name in message.template.headers}
    if spec.category is not Category.MARKETING or (linked and "list-unsubscribe" not in names):
        return
    if "list-unsubscribe" not in names:
        yield (
            "Email: Marketing without a List-Unsubscribe header, which large mailbox providers ask of bulk mail: add "
            "it to template.headers, with List-Unsubscribe-Post: List-Unsubscribe=One-Click (RFC 8058)"
        )
    elif "list-unsubscribe-post" not in names:
        yield "Email: List-Unsubscribe is one-click with List-Unsubscribe-Post: List-Unsubscribe=One-Click (RFC 8058)"


def _sender(provider: ProviderSpec | None, shown: list[Content]) -> Iterator[str]:
    domains = sorted({domain for one in shown if (domain := _domain(one.sender))})
    for domain in domains:
        if domain in _MAILBOXES:
            yield (
                f"Email: From is at {domain}, whose policy (DMARC) has mail refused that others send in its name: use "
                "a domain of your own"
            )
    if provider is None or provider.smtp is None or not domains:
        return
    host = provider.smtp.host.lower()
    away = [domain for domain in domains if not _related(domain, host)]
    if away:
        yield (
            f"Email: From is at {', '.join(away)}, the server is {host}: have it sign with DKIM for that domain "
            "(d= the same, or a parent), else DMARC finds nothing that vouches for the sender"
        )


def _domain(sender: str | None) -> str | None:
    try:
        return address_field("From", sender or "").first.domain.lower()
    except PermanentSendError:
        return None


def _related(domain: str, host: str) -> bool:
    """Say whether the server is of the sender's own domain, as far as names tell: its last two labels."""
    return domain.split(".")[-2:] == host.split(".")[-2:]
