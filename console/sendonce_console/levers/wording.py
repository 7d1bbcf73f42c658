"""What each lever is called, what it will do, whether it can be undone. Counts in, sentences out; pure.

Said before anything is done, on the page that asks for confirmation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sendonce_console.levers.interface import Wish
from sendonce_console.look import amount
from sendonce_store.console_deadletters import Reach
from sendonce_store.masking import mask_foreign
from sendonce_store.spec import ActionType, ResolveAs
from sendonce_store.standing import Overview

__all__ = ["LEVERS", "TITLES", "Lever", "promise"]


@dataclass(frozen=True, slots=True)
class Lever:
    """One lever. `title` asks; `submit` is on the button; `undo` says whether and where it can be taken back.

    `type`: of the NotificationAction, with `resolve_as`; `wish`: it is written into the campaign's spec instead.
    `states`: what it takes where nothing is chosen; None: any. `takes_rows`: it is about deliveries.
    """

    key: str
    title: str
    submit: str
    undo: str
    type: ActionType | None = None
    resolve_as: ResolveAs | None = None
    wish: Wish | None = None
    states: tuple[str, ...] | None = None
    danger: bool = False
    takes_rows: bool = field(default=True)

    @property
    def needs(self) -> Literal["levers", "wishes"]:
        """The right that it takes."""
        return "levers" if self.wish is None else "wishes"


_ALL = (
    Lever(
        "retry",
        "Try again",
        "Try again",
        "What has been handed over can't be called back. Until then, suspending the campaign holds it.",
        type=ActionType.RETRY,
        states=("failed",),
    ),
    Lever(
        "sent",
        "Resolve as sent",
        "They were sent",
        "This can't be undone: what counts as sent is never sent again.",
        type=ActionType.RESOLVE,
        resolve_as=ResolveAs.SENT,
        states=("uncertain",),
        danger=True,
    ),
    Lever(
        "resend",
        "Send again",
        "Send again, even twice",
        "This can't be undone. Until they are handed over, suspending the campaign holds them.",
        type=ActionType.RESOLVE,
        resolve_as=ResolveAs.RESEND,
        states=("uncertain",),
        danger=True,
    ),
    Lever(
        "give-up",
        "Give up",
        "Give up on them",
        "“Try again” among the failed ones opens them once more.",
        type=ActionType.RESOLVE,
        resolve_as=ResolveAs.FAILED,
        states=("uncertain",),
    ),
    Lever(
        "suppress",
        "Suppress",
        "Write to them no more",
        "“Lift the suppression”, on the page of the person or here, takes it back.",
        type=ActionType.SUPPRESS,
    ),
    Lever(
        "unsuppress",
        "Lift the suppression",
        "Lift it",
        "“Suppress” puts it back.",
        type=ActionType.UNSUPPRESS,
    ),
    Lever(
        "promote",
        "Let the rest follow the canary",
        "Promote",
        "This can't be undone. Suspending the campaign holds what is not handed over yet.",
        type=ActionType.PROMOTE,
        takes_rows=False,
        danger=True,
    ),
    Lever(
        "resume",
        "Go on after the stop",
        "Resume",
        "Suspending the campaign stops it again.",
        type=ActionType.RESUME,
        takes_rows=False,
    ),
    Lever(
        "suspend",
        "Suspend the campaign",
        "Suspend",
        "“Let it go on” on the campaign's page takes it back.",
        wish=Wish.SUSPEND,
        takes_rows=False,
    ),
    Lever(
        "go-on",
        "Let the campaign go on",
        "Let it go on",
        "Suspending it stops it again.",
        wish=Wish.GO_ON,
        takes_rows=False,
    ),
    Lever(
        "cancel",
        "Cancel the campaign",
        "Cancel it for good",
        "A campaign stays cancelled. “Try again” among the cancelled deliveries opens those; in a cluster, only after "
        "the campaign was deleted and applied anew without spec.cancel.",
        wish=Wish.CANCEL,
        takes_rows=False,
        danger=True,
    ),
)
LEVERS: Mapping[str, Lever] = {lever.key: lever for lever in _ALL}
TITLES: Mapping[str, str] = {lever.key: lever.title for lever in _ALL}


def promise(lever: Lever, campaign: Overview, reach: Reach | None) -> list[str]:
    """What the lever will do, in sentences; `reach`: what it takes, for a lever that takes deliveries."""
    return list(_rows(lever, reach) if reach is not None else _campaign(lever, campaign))


def _rows(lever: Lever, reach: Reach) -> Iterator[str]:
    some = _counted(reach)
    match lever.key:
        case "retry":
            yield f"{some} will be handed over again, with all attempts anew."
            if reach.maybe_accepted:
                yield f"{_many(reach.maybe_accepted, 'of them')} may have arrived before, and may arrive twice."
            yield "Those whom another channel has reached meanwhile are left alone."
        case "sent":
            yield f"{some} will count as sent. Nothing is handed over. Look into the provider's own records first."
        case "resend":
            yield f"{some} will be handed over again as soon as the earlier attempt must have ended."
            people = "at least " if reach.at_least else ""
            twice = people + _many(reach.people, "person", "people")
            yield f"It may reach {twice} twice: the first message may have arrived."
        case "give-up":
            yield f"{some} will count as failed. Only a channel that takes over for failed ones sends anything."
        case "suppress":
            yield f"No campaign of this namespace will write to the addresses of {some} any more, whatever it is about."
        case _:
            yield f"Suppressions that orders like “Suppress” made for the addresses of {some} are lifted."
            yield "What bounced, or complained, or came from a list stays suppressed."
    if reach.missing:
        yield f"{_many(reach.missing, 'recipient', 'recipients')} named are not in this campaign."


def _campaign(lever: Lever, campaign: Overview) -> Iterator[str]:
    left = campaign.counts.pending
    match lever.key:
        case "promote":
            yield f"{_many(left, 'delivery', 'deliveries')} behind the canary will be handed over."
            yield f"Of the canary, {amount(campaign.canary_sent)} were sent, {amount(campaign.canary_failed)} failed."
        case "resume":
            yield "The campaign goes on, and its threshold of failures counts anew from now."
            if campaign.halt_message:
                # whoever may pull levers need not be somebody who may see people
                yield f"It was stopped because: {mask_foreign(campaign.halt_message)}."
        case "suspend":
            waits = _many(left, "delivery waits", "deliveries wait")
            yield f"Workers hand nothing more over: {waits}. What is on its way ends."
        case "go-on":
            yield f"{_many(left, 'delivery', 'deliveries')} will be handed over."
        case _:
            yield f"{_many(left, 'delivery', 'deliveries')} will never be handed over. What is on its way ends."


def _counted(reach: Reach) -> str:
    least = "At least " if reach.at_least else ""
    return least + _many(reach.rows, "delivery", "deliveries")


def _many(count: int, one: str, more: str = "") -> str:
    return f"{amount(count)} {one if count == 1 else more or one}"
