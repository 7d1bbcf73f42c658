"""The rules over a change of an object, and their tables: what may not be changed, and from when.

Flows in: the object as it is stored and as it is now wished. Flows out: the fields that must not differ. A CRD carries
the same rules over `oldSelf`; a local run asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sendonce_store.spec.rules import TransitionRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sendonce_store.spec.action import NotificationAction
    from sendonce_store.spec.campaign import NotificationCampaign
    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.provider import ClusterNotificationProvider, NotificationProvider

__all__ = ["ACTION_TRANSITIONS", "CAMPAIGN_TRANSITIONS", "FROZEN_FIELDS", "PROVIDER_TRANSITIONS"]

FROZEN_FIELDS = ("category", "topic", "recipients", "messages", "rollout")
"""The content of a campaign: frozen once it has started, and covered by its content hash."""


def send_key_stays(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
    """The identity of a campaign is its send key."""
    if old.spec.send_key != new.spec.send_key:
        yield ("spec", "sendKey")


def cancel_stays(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
    """What was cancelled is no longer pending."""
    if old.spec.cancel and not new.spec.cancel:
        yield ("spec", "cancel")


def content_is_frozen_once_started(old: NotificationCampaign, new: NotificationCampaign) -> Iterator[Path]:
    """Every recipient of a campaign gets the same campaign."""
    if old.status.start_time is not None:
        yield from (("spec", name) for name in FROZEN_FIELDS if getattr(old.spec, name) != getattr(new.spec, name))


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


CAMPAIGN_TRANSITIONS: tuple[TransitionRule[NotificationCampaign], ...] = (
    TransitionRule(
        "send-key-stays", "spec", "is immutable; make another campaign for another send key", send_key_stays
    ),
    TransitionRule("cancel-stays", "spec", "cannot be undone; make a campaign with another sendKey", cancel_stays),
    TransitionRule(
        "content-is-frozen-once-started",
        "",
        "is frozen once the campaign has started; to send something else, make a campaign with another sendKey",
        content_is_frozen_once_started,
    ),
)
PROVIDER_TRANSITIONS: tuple[TransitionRule[NotificationProvider | ClusterNotificationProvider], ...] = (
    TransitionRule("provider-type-stays", "spec", "is immutable; make another provider", provider_type_stays),
)
ACTION_TRANSITIONS: tuple[TransitionRule[NotificationAction], ...] = (
    TransitionRule("action-stays", "spec", "is immutable; make an action with another name", action_stays),
)
