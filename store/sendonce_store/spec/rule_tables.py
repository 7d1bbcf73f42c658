"""All rules in one place: for the CRDs that carry them, and for asking whether a change is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sendonce_store.spec import (
    action_rules,
    attachment_rules,
    campaign_rules,
    message_rules,
    provider_rules,
    recipients_rules,
    transitions,
)
from sendonce_store.spec.action import NotificationAction
from sendonce_store.spec.campaign import NotificationCampaign
from sendonce_store.spec.provider import ClusterNotificationProvider, NotificationProvider

if TYPE_CHECKING:
    from sendonce_store.spec.base import SpecModel
    from sendonce_store.spec.problems import Path
    from sendonce_store.spec.rules import Rule, TransitionRule

__all__ = ["RULES", "TRANSITIONS", "refused_changes"]

_PROVIDER: tuple[Rule[Any], ...] = (
    *provider_rules.PROVIDER_RULES,
    *provider_rules.HTTP_RULES,
    *provider_rules.ERROR_RULE_RULES,
)

RULES: dict[type[SpecModel], tuple[Rule[Any], ...]] = {
    NotificationCampaign: (
        *campaign_rules.CAMPAIGN_NAME_RULES,
        *campaign_rules.SPEC_RULES,
        *recipients_rules.RECIPIENTS_RULES,
        *recipients_rules.EXPECTED_RULES,
        *recipients_rules.HTTP_SOURCE_RULES,
        *message_rules.MESSAGES_RULES,
        *message_rules.MESSAGE_RULES,
        *message_rules.VARIANT_RULES,
        *attachment_rules.ATTACHMENT_RULES,
        *campaign_rules.SCHEDULE_RULES,
        *campaign_rules.QUIET_HOURS_RULES,
        *campaign_rules.RETRY_RULES,
    ),
    NotificationProvider: _PROVIDER,
    ClusterNotificationProvider: (
        *_PROVIDER,
        *provider_rules.NAMESPACES_RULES,
        *provider_rules.REQUIREMENT_RULES,
    ),
    NotificationAction: action_rules.ACTION_RULES,
}
"""Kind → the rules over one object; the models apply them by themselves."""

TRANSITIONS: dict[type[SpecModel], tuple[TransitionRule[Any], ...]] = {
    NotificationCampaign: transitions.CAMPAIGN_TRANSITIONS,
    NotificationProvider: transitions.PROVIDER_TRANSITIONS,
    ClusterNotificationProvider: transitions.PROVIDER_TRANSITIONS,
    NotificationAction: transitions.ACTION_TRANSITIONS,
}
"""Kind → the rules over a change of one object."""


def refused_changes(old: SpecModel, new: SpecModel) -> list[tuple[Path, str]]:
    """Return (path, message) for everything in which `new` must not differ from `old`; both are of one kind."""
    return [(path, rule.message) for rule in TRANSITIONS[type(new)] for path in rule.breaches(old, new)]
