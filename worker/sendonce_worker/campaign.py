"""The worker's view of its campaign: one plan per channel, made from the store's rows and the mounted Secrets.

Providers and Secrets may change while a campaign runs: `refresh` looks again and rebuilds what changed. Batches that
are under way keep the plan that they began with; a provider that is no longer used is closed with the last of them.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sendonce_rendering import CompiledMessage, TemplateError, compile_message
from sendonce_store.campaigns import Channel, StoredCampaign, read_channels
from sendonce_store.connection import Connection
from sendonce_store.links import Links, campaign_links
from sendonce_store.pace import Slots, is_paced, lease_slots
from sendonce_store.rows import Repeats, Terms
from sendonce_store.spec import CARRIES_ATTACHMENTS, Category, Message, ProviderSpec, ProviderType
from sendonce_store.spec.metadata import SecretRef
from sendonce_worker.attaching import AttachmentError, load
from sendonce_worker.link import Link
from sendonce_worker.linking import Linking
from sendonce_worker.metrics import DeliverySeries, ProviderSeries
from sendonce_worker.providers.base import Provider
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.registry import build_provider
from sendonce_worker.redaction import Redactor
from sendonce_worker.sending.pacer import Pacer
from sendonce_worker.sending.plan import (
    ChannelPlan,
    bundle_size,
    fallbacks_of,
    lease_length,
    quiet_hours_of,
    rows_ahead,
    rules_of,
)
from sendonce_worker.settings import WorkerSettings

logger = logging.getLogger(__name__)


class NotReadyError(Exception):
    """The worker can't send: a Secret is missing, say. The message tells a person what to do."""


@dataclass(frozen=True, slots=True)
class _Built:
    """A plan with the mark of what it was made from."""

    plan: ChannelPlan
    mark: str


class Campaign:
    """The plans of one campaign, as they are now."""

    def __init__(self, stored: StoredCampaign, settings: WorkerSettings, control: Link, redactor: Redactor) -> None:
        """Nothing is built before the first `refresh`; `redactor` keeps the Secrets that are read out of the logs."""
        self._redactor = redactor
        self.stored = stored
        self._settings = settings
        self._control = control
        self._built: dict[str, _Built] = {}
        self._retired: list[Provider] = []
        self._links: Links | None = None
        self._links_settled = False

    @property
    def concurrency(self) -> int:
        """Hand-offs that this worker has under way at most."""
        return self._settings.concurrency or self.stored.spec.workers.concurrency

    @property
    def plans(self) -> Mapping[str, ChannelPlan]:
        """Channel → plan."""
        return {channel: built.plan for channel, built in self._built.items()}

    @property
    def repeats(self) -> Mapping[str, Repeats]:
        """Channel → what decides about repeats."""
        return {channel: built.plan.rules.repeats for channel, built in self._built.items()}

    @property
    def longest_lease(self) -> float:
        """Seconds: a claim does not know yet which channel it will get."""
        return max((built.plan.lease for built in self._built.values()), default=30.0)

    async def refresh(self, conn: Connection) -> None:
        """Build what is new or has changed. Raises NotReadyError."""
        channels = await read_channels(conn, self.stored.id)
        await self._freeze_links(conn)
        for channel in channels:
            secrets, ca = read_secrets(channel.provider, self._settings.files)
            mark = f"{_mark(channel.provider, secrets, ca)} {channel.capped}"
            known = self._built.get(channel.channel)
            if known is None or known.mark != mark:
                for secret in secrets.values():
                    self._redactor.register(secret)
                plan = await self._build(conn, channel, channels, secrets, ca)
                if known is not None:
                    self._retired.append(known.plan.provider)
                self._built[channel.channel] = _Built(plan, mark)

    async def _build(
        self,
        conn: Connection,
        channel: Channel,
        channels: list[Channel],
        secrets: Mapping[str, bytes],
        ca: bytes | None,
    ) -> ChannelPlan:
        spec, provider_spec = self.stored.spec, channel.provider
        provider = _provider(channel, secrets, ca)
        message = next(m for m in spec.messages if m.channel.value == channel.channel)
        in_flight = min(self.concurrency, provider_spec.max_in_flight)
        timeout = float(provider_spec.timeout_seconds)
        rules = rules_of(spec, provider.key_window, timeout)
        lease = lease_length(timeout, self._settings.heartbeat)
        pacer = await self._pacer(conn, channel.provider_id, in_flight)
        template = _template(message, provider_spec, self._settings.files)
        return ChannelPlan(
            channel=channel.channel,
            provider_id=channel.provider_id,
            provider=provider,
            template=template,
            rules=rules,
            terms=Terms(rules.repeats, fallbacks_of(channel.channel, channels), channel.capped),
            lease=lease,
            capacity=in_flight,
            ahead=rows_ahead(in_flight, provider.key_window, lease, paced=pacer.paced),
            bundle=bundle_size(provider, in_flight),
            quiet=quiet_hours_of(spec),
            pacer=pacer,
            series=DeliverySeries(self.stored.namespace, self.stored.name, channel.channel, channel.provider_name),
            provider_series=ProviderSeries(self.stored.namespace, channel.provider_name),
            own_quiet=spec.category is not Category.TRANSACTIONAL,
            links=Linking(self._links, spec, channel.channel, template) if self._links else None,
        )

    async def _freeze_links(self, conn: Connection) -> None:
        """See once what the campaign's links are made with: the worker that looks first settles it."""
        if self._links_settled:
            return
        url = self._settings.gateway_url
        self._links = await campaign_links(conn, self.stored.id, url)
        self._links_settled = True
        if url != (self._links.url if self._links else None):
            logger.info("the links of this campaign stay as it began with, whatever the gateway's address is now")

    async def _pacer(self, conn: Connection, provider_id: int, block: int) -> Pacer:
        async def ask(wanted: int) -> Slots:
            async with self._control.use() as control:
                return await lease_slots(control, provider_id, self.stored.priority, wanted)

        return Pacer(ask, paced=await is_paced(conn, provider_id), block=block)

    async def aclose(self) -> None:
        """Close the providers."""
        for provider in [*self._retired, *(built.plan.provider for built in self._built.values())]:
            await provider.aclose()


def _provider(channel: Channel, secrets: Mapping[str, bytes], ca: bytes | None) -> Provider:
    try:
        return build_provider(channel.provider, secrets, ca)
    except ProviderConfigError as error:
        message = f"{channel.provider_kind} {channel.provider_name}: {error}"
        raise NotReadyError(message) from error


def _template(message: Message, provider: ProviderSpec, files: Path) -> CompiledMessage:
    """The message ready to be rendered, with its files."""
    template, channel = message.template, message.channel.value
    if template.attachments and provider.type not in CARRIES_ATTACHMENTS:
        text = f"InvalidSpec: messages[{channel}].template.attachments: {no_attachments(provider.type)}"
        raise NotReadyError(text)
    try:
        return compile_message(template, channel, attachments=load(template.attachments, files))
    except (AttachmentError, TemplateError) as error:
        text = f"InvalidSpec: messages[{channel}].template.{error}"
        raise NotReadyError(text) from error


def no_attachments(kind: ProviderType) -> str:
    """What is said of attachments where the provider has no place for them."""
    able = ", ".join(sorted(CARRIES_ATTACHMENTS))
    return f"the provider is of type {kind}, which carries none; use one of type {able}, or link to the files"


def read_secrets(spec: ProviderSpec, files: Path) -> tuple[dict[str, bytes], bytes | None]:
    """The provider's credentials and CA as they are mounted now. Raises NotReadyError."""
    credentials = spec.credentials_secret_ref
    secrets = _read_folder(files, credentials.name) if credentials else {}
    authority = ca_secret(spec)
    if authority is None:
        return secrets, None
    ca = _read_folder(files, authority.name).get("ca.crt")
    if ca is None:
        message = f"SecretNotFound: Secret {authority.name} has no key ca.crt (caSecretRef)"
        raise NotReadyError(message)
    return secrets, ca


def ca_secret(spec: ProviderSpec) -> SecretRef | None:
    """The Secret with the certificate authorities that the provider's own settings name."""
    if spec.http is not None:
        return spec.http.tls.ca_secret_ref
    return spec.smtp.ca_secret_ref if spec.smtp is not None else None


def _read_folder(files: Path, name: str) -> dict[str, bytes]:
    folder = files / "secrets" / name
    # a mounted Secret has links and hidden folders beside its keys
    keys = sorted(path for path in folder.glob("*") if path.is_file() and not path.name.startswith("."))
    if not keys:
        message = f"SecretNotFound: Secret {name} is not there, or is empty (looked in {folder})"
        raise NotReadyError(message)
    return {path.name: path.read_bytes() for path in keys}


def _mark(spec: ProviderSpec, secrets: Mapping[str, bytes], ca: bytes | None) -> str:
    digest = hashlib.sha256(spec.model_dump_json().encode())
    for name, value in sorted(secrets.items()):
        digest.update(f"{name}:{len(value)}:".encode() + value)
    digest.update(b"ca:" + (ca or b""))
    return digest.hexdigest()
