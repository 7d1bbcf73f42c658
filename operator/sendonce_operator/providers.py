"""Providers: their settings go to the store at once, what workers found out about them comes back into their status.

A provider whose object is deleted is suspended in the store: campaigns that still use it wait, and say so. Made again,
it goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Container, Sequence

from sendonce_operator.cluster import ClusterError
from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import Refusal, provider_facts
from sendonce_operator.decisions.providers import ProviderSituation, provider_events, provider_status
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_operator.objects import CLUSTER_PROVIDER, Provider
from sendonce_operator.paths import Key
from sendonce_operator.providing import sync_provider
from sendonce_operator.publishing import publish
from sendonce_operator.runtime import Runtime
from sendonce_operator.watched import providers_named
from sendonce_store import operating
from sendonce_store.spec import ClusterProviderSpec, Condition, ConditionStatus, ProviderSpec, ProviderStatus

logger = logging.getLogger(__name__)


async def reconcile_provider(runtime: Runtime, key: Key) -> None:
    """Write a provider's settings to the store, and its status. What fails is tried again by the loop."""
    provider = runtime.watched.providers.get(key)
    if provider is None:
        return
    refused = await _sync(runtime, provider)
    situation = situation_of(runtime, provider, refused)
    wanted = provider_status(situation)
    events = provider_events(provider.subject.status, ProviderStatus.from_wire(wanted))
    try:
        await publish(runtime, provider, wanted, events)
    except ClusterError as error:
        logger.warning("%s: %s", key.name, error)


async def _sync(runtime: Runtime, provider: Provider) -> Refusal | None:
    if provider.spec is None:
        model = ClusterProviderSpec if provider.key.kind == CLUSTER_PROVIDER else ProviderSpec
        return refusal.invalid_spec(provider.invalid, model) if provider.invalid else refusal.starting()
    if runtime.synced.get(provider.key) == provider.at:
        return None
    try:
        async with runtime.ledger.use() as conn:
            await sync_provider(runtime, conn, provider, provider.spec)
    except STORE_ERRORS as error:
        return refusal.store_unavailable(str(error))
    return None


def situation_of(runtime: Runtime, provider: Provider, refused: Refusal | None) -> ProviderSituation:
    """All that a provider's status is made from."""
    pause = runtime.pauses.get(provider.key)
    return ProviderSituation(
        subject=provider.subject,
        now=runtime.now(),
        spec=provider.spec,
        refusal=refused,
        paused_until=pause.paused_until if pause else None,
        pause_code=pause.pause_code if pause else None,
        pause_message=pause.pause_message if pause else None,
        rejected=_told_by_campaigns(runtime, provider.key, "CredentialsRejected", [provider.key.name]),
        secret_missing=_told_by_campaigns(runtime, provider.key, "SecretNotFound", _secrets(provider)),
    )


def _secrets(provider: Provider) -> Sequence[str]:
    return [] if provider.spec is None else provider_facts(provider.key.kind, provider.key.name, provider.spec).secrets


def _told_by_campaigns(runtime: Runtime, key: Key, reason: str, names: Sequence[str]) -> str | None:
    """What a campaign that is stalled for this reason says, if it names the provider, or what is the provider's."""
    for campaign in runtime.watched.users_of(key):
        conditions = campaign.subject.status.conditions if campaign.subject.status else ()
        for condition in conditions:
            if _is_stalled(condition, reason) and any(name in condition.message for name in names):
                return condition.message
    return None


def _is_stalled(condition: Condition, reason: str) -> bool:
    return condition.type == "Stalled" and condition.status is ConditionStatus.TRUE and condition.reason == reason


async def suspend_gone(runtime: Runtime) -> None:
    """Suspend in the store whose objects are gone; one that was made again is left alone. Raises the store's errors."""
    for key in list(runtime.gone):
        if key not in runtime.watched.providers:
            async with runtime.ledger.use() as conn:
                await operating.suspend_provider(conn, key.kind, key.namespace, key.name)
        # only now: what was made again meanwhile is written once more
        runtime.synced.pop(key, None)
        runtime.facts.pop(key, None)
        runtime.gone.discard(key)


def note_gone(runtime: Runtime, kind: str, present: Container[Key]) -> None:
    """Providers that our active campaigns name, and that a list has not: they may have gone while nobody watched."""
    for key, tracked in runtime.tracked.items():
        campaign, overview = runtime.watched.campaigns.get(key), tracked.overview
        if campaign is None or overview is None or overview.ended is not None or tracked.refusal is not None:
            continue
        for provider in providers_named(campaign):
            state = runtime.pauses.get(provider)
            if provider.kind == kind and provider not in present and state is not None and not state.suspended:
                runtime.gone.add(provider)
