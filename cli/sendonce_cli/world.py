"""Checks that reach out of the files, before anything is written: the store, host names, the recipients' source."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from sendonce_cli.checking import Checked, check_provider, spec_of
from sendonce_cli.first_look import look
from sendonce_cli.materials import Materials
from sendonce_cli.stores import Store
from sendonce_store import ledger
from sendonce_store.migrate import newest, require_current, schema_version
from sendonce_store.spec import CARRIES_ATTACHMENTS, Problem, ProviderKind, ProviderSpec, SpecError
from sendonce_store.standing import Overview
from sendonce_worker.campaign import no_attachments
from sendonce_worker.providers.http1.proxy import proxy_for
from sendonce_worker.providers.http1.target import parse_target

__all__ = ["Known", "check_world", "what_is_known"]

_RESOLVE_SECONDS = 5.0
# scheme, host and port, without a template in it
_ORIGIN = re.compile(r"https?://[^/?#{}\s]+(?=[/?#]|$)")


@dataclass(frozen=True, slots=True)
class Known:
    """What the store has already: the campaign of the send key, and providers that no document gives, by channel."""

    campaign: Overview | None = None
    providers: Mapping[str, ProviderSpec] = field(default_factory=dict)


async def what_is_known(store: Store, checked: Checked) -> Known:
    """Look into the store without changing it. Raises StoreUnavailableError, SchemaVersionError (too new)."""
    if not store.exists:
        return Known()
    async with store.connection(current=False) as conn:
        version = await schema_version(conn)
        if version > newest():
            await require_current(conn)
        if version < newest():
            return Known()
        campaign_id = await ledger.find_send_key(conn, checked.namespace, checked.source.campaign.send_key)
        campaign = await ledger.overview(conn, checked.namespace, campaign_id) if campaign_id is not None else None
        providers = {}
        for message in checked.spec.messages:
            if message.channel.value not in checked.providers:
                kind, name = message.provider_ref.kind, message.provider_ref.name
                namespace = "" if kind is ProviderKind.CLUSTER_NOTIFICATION_PROVIDER else checked.namespace
                spec = await ledger.stored_provider(conn, namespace, kind.value, name)
                if spec is not None:
                    providers[message.channel.value] = spec
    return Known(campaign, providers)


async def check_world(checked: Checked, known: Known, materials: Materials) -> None:
    """Raise SpecError with everything that would keep the campaign from being sent."""
    problems = await _provider_problems(checked, known, materials)
    if known.campaign is None or not known.campaign.imported:
        problems += await look(checked, materials)
    if problems:
        raise SpecError(problems)


async def _provider_problems(checked: Checked, known: Known, materials: Materials) -> list[Problem]:
    problems: list[Problem] = []
    for no, message in enumerate(checked.spec.messages):
        here = ("spec", "messages", no, "providerRef", "name")
        named = f"{message.provider_ref.kind.value} {message.provider_ref.name}"
        document = checked.providers.get(message.channel.value)
        spec = spec_of(document) if document else known.providers.get(message.channel.value)
        if spec is None:
            words = (
                f"there is no {named} in these files or in the store: add its document, or give it with --provider FILE"
            )
            problems.append(checked.problem(here, words))
            continue
        if document is None:
            found = await check_provider(spec, materials)
            problems += [checked.problem(here, f"{named}: {'.'.join(map(str, path))}: {text}") for path, text in found]
        if message.template.attachments and spec.type not in CARRIES_ATTACHMENTS:
            files = ("spec", "messages", no, "template", "attachments")
            problems.append(checked.problem(files, no_attachments(spec.type)))
        unresolved = await _unresolved(spec)
        if unresolved is not None:
            place, words = unresolved
            problems.append(document.problem(("spec", *place), words) if document else checked.problem(here, words))
    return list(dict.fromkeys(problems))


async def _unresolved(spec: ProviderSpec) -> tuple[tuple[str, ...], str] | None:
    """The field and the problem if the far end's name does not resolve. Behind a proxy that is the proxy's business."""
    if spec.smtp is not None:
        host, place = spec.smtp.host.strip("[]"), ("smtp", "host")
    elif spec.http is not None:
        found = _http_host(spec.http.url)
        if found is None:
            return None
        host, place = found, ("http", "url")
    else:
        return None
    return None if await _resolves(host) else (place, f"the name {host} does not resolve; check how it is written")


def _http_host(url: str) -> str | None:
    """The host of a URL; None if a Secret fills it in, or a proxy looks it up."""
    origin = _ORIGIN.match(url)
    if origin is None:
        return None
    with suppress(ValueError):
        target = parse_target(f"{origin[0]}/")
        return None if proxy_for(target) else target.host
    return None


async def _resolves(host: str) -> bool:
    loop = asyncio.get_running_loop()
    try:
        await asyncio.wait_for(loop.getaddrinfo(host, None, type=socket.SOCK_STREAM), _RESOLVE_SECONDS)
    except (OSError, UnicodeError, TimeoutError):
        return False
    return True
