"""What a campaign names is there: its list, and its providers, which are written to the store before its rows."""

from __future__ import annotations

from datetime import datetime

from sendonce_operator import paths
from sendonce_operator.decisions import refusal
from sendonce_operator.decisions.facts import ProviderFacts, Refusal, provider_facts
from sendonce_operator.objects import Campaign, Provider, provider_document, read
from sendonce_operator.paths import Key
from sendonce_operator.runtime import Runtime
from sendonce_operator.signals import RefusedError
from sendonce_operator.watched import provider_key, providers_named
from sendonce_store import campaigns
from sendonce_store.connection import Connection
from sendonce_store.spec import CampaignSpec, ClusterProviderSpec, Message, ProviderSpec


async def provide(runtime: Runtime, conn: Connection, campaign: Campaign, spec: CampaignSpec) -> None:
    """See that the recipients are there, and that the store has every provider. Raises RefusedError, ClusterError."""
    await _require_list(runtime, campaign, spec)
    for message in spec.messages:
        await _provide_one(runtime, conn, campaign, message)


async def _require_list(runtime: Runtime, campaign: Campaign, spec: CampaignSpec) -> None:
    """Objects that are applied together arrive in any order. Secrets the operator may not read: workers report them."""
    ref = spec.recipients.config_map_key_ref
    if ref is None:
        return
    found = await runtime.cluster.find(paths.config_map(campaign.key.namespace, ref.name))
    if found is None or ref.key not in {*(found.get("data") or {}), *(found.get("binaryData") or {})}:
        what = f"spec.recipients.configMapKeyRef: ConfigMap {ref.name} with key {ref.key}"
        raise RefusedError(refusal.missing(campaign.subject, what, runtime.now(), "SourceUnreadable"))


async def _provide_one(runtime: Runtime, conn: Connection, campaign: Campaign, message: Message) -> None:
    key = provider_key(message, campaign.key.namespace)
    provider = await find_provider(runtime, key)
    if provider is None:
        what = f"spec.messages[{message.channel.value}].providerRef: {key.kind} {key.name}"
        raise RefusedError(refusal.missing(campaign.subject, what, runtime.now()))
    if provider.spec is None:
        words = f"{key.kind} {key.name} can't be read: see its own conditions"
        raise RefusedError(refusal.invalid_field("spec.messages", words))
    unfit = refusal.unfit_channel(message.channel, message.provider_ref, provider.spec.type)
    unfit = unfit or await _not_allowed(runtime, campaign, provider.spec, key)
    if unfit is not None:
        raise RefusedError(unfit)
    await sync_provider(runtime, conn, provider, provider.spec)


async def find_provider(runtime: Runtime, key: Key) -> Provider | None:
    """The provider as watched, or else as the API server has it: the watch may be behind."""
    if key in runtime.watched.providers:
        return runtime.watched.providers[key]
    body = await runtime.cluster.find(key.path)
    return None if body is None else read(key.kind, body)


async def _not_allowed(runtime: Runtime, campaign: Campaign, spec: ProviderSpec, key: Key) -> Refusal | None:
    if not isinstance(spec, ClusterProviderSpec):
        return None
    name = campaign.key.namespace
    space = await runtime.cluster.get(paths.namespace(name))
    labels = space["metadata"].get("labels") or {}
    return refusal.not_allowed(key.name, spec.allowed_namespaces, name, labels)


async def sync_provider(runtime: Runtime, conn: Connection, provider: Provider, spec: ProviderSpec) -> None:
    """Write a provider's settings to the store, unless this generation is there already."""
    if runtime.synced.get(provider.key) == provider.at:
        return
    await campaigns.sync_provider(conn, provider_document(provider, spec))
    runtime.synced[provider.key] = provider.at


def facts_of(runtime: Runtime, campaign: Campaign) -> list[ProviderFacts]:
    """What sizing and the Deployment need of the campaign's providers; one that is not known is left out."""
    found = []
    for key in providers_named(campaign):
        provider, pause = runtime.watched.providers.get(key), runtime.pauses.get(key)
        if provider is not None and provider.spec is not None:
            until = pause.paused_until if pause and pause.paused_until and pause.paused_until > pause.now else None
            found.append(_facts(runtime, provider, provider.spec, until))
    return found


def _facts(runtime: Runtime, provider: Provider, spec: ProviderSpec, until: datetime | None) -> ProviderFacts:
    """A thousand campaigns ask for the same every second: they are made once for a generation and a pause."""
    key, at = provider.key, (provider.at, until)
    known = runtime.facts.get(key)
    if known is None or known[0] != at:
        known = runtime.facts[key] = (at, provider_facts(key.kind, key.name, spec, until))
    return known[1]


def all_known(runtime: Runtime, campaign: Campaign) -> bool:
    """Whether every provider that the campaign names has been shown, with settings that can be read.

    Right after a start campaigns may be listed before providers are.
    """
    providers = runtime.watched.providers
    return all(key in providers and providers[key].spec is not None for key in providers_named(campaign))
