"""The rules over a change of an object, and their tables: what may not be changed, and from when.

Flows in: the object as it is stored and as it is now wished. Flows out: the fields that must not differ. A CRD carries
the same rules over `oldSelf`; a local run asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.rules import TransitionRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sendonce_store.spec.action import NotificationAction
    from sendonce_store.spec.campaign import NotificationCampaign
    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.provider import ClusterNotificationProvider, NotificationProvider

__all__ = ["ACTION_TRANSITIONS", "CAMPAIGN_TRANSITIONS", "FROZEN_FIELDS", "PROVIDER_TRANSITIONS"]

FROZEN_FIELDS = ("category", "topic", "recipients", "messages", "rollout")
"""The content of a campaign: frozen once it has started, and covered by its content hash."""

_OPTIONAL = frozenset({"topic", "rollout"})
# the API server asks all rules at each write of a status, too, and there what is cheap is to settle it
_LARGE = frozenset({"recipients", "messages"})
_NOT_STARTED = "!has(oldSelf.status) || !has(oldSelf.status.startTime)"
# a write changes either the spec or the status: where the counts move, the spec is as it was
_COUNTS_MOVE = "has(oldSelf.status.deliveries) && self.status.deliveries.pending != oldSelf.status.deliveries.pending"


def send_key_stays(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
    """The identity of a campaign is its send key."""
    if old.spec.send_key != new.spec.send_key:
        yield ("spec", "sendKey")


def cancel_stays(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
    """What was cancelled is no longer pending."""
    if old.spec.cancel and not new.spec.cancel:
        yield ("spec", "cancel")


def close_stays(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
    """What was closed may have ended."""
    if old.spec.close and not new.spec.close:
        yield ("spec", "close")


def _content(campaign: NotificationCampaign, field: str) -> object:
    if field == "messages":
        # their order means nothing: there is one per channel
        return sorted(campaign.spec.messages, key=lambda message: message.channel)
    return getattr(campaign.spec, field)


def frozen_once_started(field: str) -> Callable[[NotificationCampaign, NotificationCampaign], Iterator[Path]]:
    """Every recipient of a campaign gets the same campaign: return the check of one field of the content."""

    def breaches(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
        if old.status.start_time is not None and _content(old, field) != _content(new, field):
            yield ("spec", field)

    return breaches


def provider_type_stays(
    old: NotificationProvider | ClusterNotificationProvider,
    new: NotificationProvider | ClusterNotificationProvider,
) -> Iterator[Path]:
    """Keys and classes of errors mean something else at another kind of far end."""
    if old.spec.type is not new.spec.type:
        yield ("spec", "type")


def action_stays(old: NotificationAction, new: NotificationAction) -> Iterator[Path]:
    """An order that may have been carried out can't become another."""
    if old.spec != new.spec:
        yield ("spec",)


def _same(field: str) -> str:
    """Return CEL for: an optional field is as it was, absent or not."""
    same = f"has(oldSelf.{field}) && self.{field} == oldSelf.{field}"
    return f"has(self.{field}) ? {same} : !has(oldSelf.{field})"


def _frozen(field: str) -> TransitionRule[NotificationCampaign]:
    same = f"({_same(f'spec.{field}')})" if field in _OPTIONAL else f"self.spec.{field} == oldSelf.spec.{field}"
    return TransitionRule(
        name=f"{field}-is-frozen-once-started",
        scope="",
        field=f"spec.{field}",
        message="is frozen once the campaign has started; to send something else, make a campaign with another sendKey",
        cel=f"{_NOT_STARTED} || {_COUNTS_MOVE} || {same}" if field in _LARGE else f"{same} || {_NOT_STARTED}",
        breaches=frozen_once_started(field),
    )


CAMPAIGN_TRANSITIONS: tuple[TransitionRule[NotificationCampaign], ...] = (
    TransitionRule(
        name="send-key-stays",
        scope="spec",
        field="sendKey",
        message="is immutable; make another campaign for another send key",
        cel=_same("sendKey"),
        breaches=send_key_stays,
    ),
    TransitionRule(
        name="cancel-stays",
        scope="spec",
        field="cancel",
        message="cannot be undone; make a campaign with another sendKey",
        cel="!oldSelf.cancel || self.cancel",
        breaches=cancel_stays,
    ),
    TransitionRule(
        name="close-stays",
        scope="spec",
        field="close",
        message="cannot be undone; make a campaign with another sendKey",
        cel="!oldSelf.close || self.close",
        breaches=close_stays,
    ),
    *(_frozen(field) for field in FROZEN_FIELDS),
)
PROVIDER_TRANSITIONS: tuple[TransitionRule[NotificationProvider | ClusterNotificationProvider], ...] = (
    TransitionRule(
        name="provider-type-stays",
        scope="spec",
        field="type",
        message="is immutable; make another provider",
        cel="self.type == oldSelf.type",
        breaches=provider_type_stays,
    ),
)
ACTION_TRANSITIONS: tuple[TransitionRule[NotificationAction], ...] = (
    TransitionRule(
        name="action-stays",
        scope="",
        field="spec",
        message="is immutable; make an action with another name",
        cel="self.spec == oldSelf.spec",
        breaches=action_stays,
    ),
)
