"""Everything about a campaign that can be known to be wrong before the store is touched.

In: the documents and the files they refer to. Out: the campaign ready to be adopted (`Checked`), or SpecError with
every problem at its line. Nothing is written and nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sendonce_cli.bundle import Bundle, CampaignDocument
from sendonce_cli.materials import Materials
from sendonce_rendering import CompiledMessage, TemplateError, compile_message
from sendonce_rendering.attached import described
from sendonce_store.spec import (
    CHANNELS_OF_TYPE,
    CampaignSpec,
    ClusterNotificationProvider,
    Document,
    Message,
    NotificationProvider,
    Path,
    Problem,
    ProviderSpec,
    SecretKeyRef,
    SecretRef,
    SpecError,
)
from sendonce_worker.campaign import read_secrets
from sendonce_worker.linking import Linking, sample_links
from sendonce_worker.previewing.templates import place_of, resolved_template
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.registry import build_provider

__all__ = ["Checked", "check_campaign", "check_provider"]


@dataclass(frozen=True, slots=True)
class Checked:
    """A campaign that can be adopted: `spec` has the templates of ConfigMaps in it.

    `providers` are the documents' own, by channel; a channel that is not in it uses a provider of the store. `links`
    make links as its messages will have them, if there is a gateway: as long, but good for nothing.
    """

    source: CampaignDocument
    spec: CampaignSpec
    templates: Mapping[str, CompiledMessage]
    providers: Mapping[str, Document]
    links: Mapping[str, Linking] = field(default_factory=dict)

    @property
    def namespace(self) -> str:
        """The campaign's namespace."""
        return self.source.campaign.metadata.namespace

    @property
    def channels(self) -> list[str]:
        """The campaign's channels."""
        return [message.channel.value for message in self.spec.messages]

    def problem(self, path: Path, message: str) -> Problem:
        """A problem at a place in the campaign's document."""
        return self.source.document.problem(path, message)


async def check_campaign(
    bundle: Bundle, source: CampaignDocument, materials: Materials, gateway: str | None = None
) -> Checked:
    """Check templates, files, providers and their Secrets. Raises SpecError."""
    problems: list[Problem] = []
    messages, templates = [], {}
    for no, message in enumerate(source.campaign.spec.messages):
        before = len(problems)
        resolved = _resolve(source.document, no, message, materials, problems)
        messages.append(resolved)
        # of a template that can't be read there is nothing more to say
        if len(problems) == before and (compiled := _compile(source.document, no, message, resolved, problems)):
            templates[message.channel.value] = compiled
    spec = source.campaign.spec.model_copy(update={"messages": tuple(messages)})
    problems += _missing_files(source.document, spec, materials)
    named = {
        message.channel.value: bundle.provider_of(message, source.campaign.metadata.namespace) for message in messages
    }
    providers = {channel: document for channel, document in named.items() if document is not None}
    for document in {id(document): document for document in providers.values()}.values():
        found = await check_provider(spec_of(document), materials)
        problems += [document.problem(("spec", *path), words) for path, words in found]
    problems += _unfit(source.document, messages, providers)
    if problems:
        raise SpecError(problems)
    return Checked(source, spec, templates, providers, sample_links(spec, templates, gateway))


def _unfit(document: Document, messages: list[Message], providers: Mapping[str, Document]) -> Iterator[Problem]:
    """Messages whose provider's type can't serve their channel."""
    for no, message in enumerate(messages):
        if message.channel.value in providers:
            kind = spec_of(providers[message.channel.value]).type
            if message.channel not in CHANNELS_OF_TYPE[kind]:
                served = ", ".join(sorted(CHANNELS_OF_TYPE[kind]))
                words = f"is of type {kind}, which serves {served}; name another provider"
                yield document.problem(("spec", "messages", no, "providerRef"), words)


def _resolve(document: Document, no: int, message: Message, materials: Materials, problems: list[Problem]) -> Message:
    """Read the ConfigMaps of a template into it, and note the sums of its files."""
    here: Path = ("spec", "messages", no, "template")
    template, found = resolved_template(message.template, materials)
    problems += [document.problem((*here, *path), words) for path, words in found]
    return message.model_copy(update={"template": template})


def _compile(
    document: Document, no: int, message: Message, resolved: Message, problems: list[Problem]
) -> CompiledMessage | None:
    try:
        files = described(resolved.template.attachments)
        return compile_message(resolved.template, message.channel.value, attachments=files)
    except TemplateError as error:
        path, words = place_of(message.template, error)
        problems.append(document.problem(("spec", "messages", no, "template", *path), words))
        return None


def _missing_files(document: Document, spec: CampaignSpec, materials: Materials) -> Iterator[Problem]:
    """References of the recipients to keys that are not there."""
    recipients = spec.recipients
    config_map, http, postgres = recipients.config_map_key_ref, recipients.http, recipients.postgres
    if config_map and config_map.key not in materials.config_map(config_map.name):
        here: Path = ("spec", "recipients", "configMapKeyRef")
        yield document.problem(here, materials.missing("ConfigMap", config_map.name, config_map.key))
    secrets: dict[Path, SecretKeyRef | None] = {
        ("secretKeyRef",): recipients.secret_key_ref,
        ("http", "urlSecretKeyRef"): http.url_secret_key_ref if http else None,
        ("postgres", "dsnSecretKeyRef"): postgres.dsn_secret_key_ref if postgres else None,
        ("mysql", "dsnSecretKeyRef"): recipients.mysql.dsn_secret_key_ref if recipients.mysql else None,
    }
    for path, ref in secrets.items():
        if ref is not None and ref.key not in materials.secret(ref.name):
            yield document.problem(("spec", "recipients", *path), materials.missing("Secret", ref.name, ref.key))
    whole: dict[Path, SecretRef | None] = {
        ("http", "headersSecretRef"): http.headers_secret_ref if http else None,
        ("s3", "credentialsSecretRef"): recipients.s3.credentials_secret_ref if recipients.s3 else None,
    }
    for path, secret in whole.items():
        if secret is not None and not materials.secret(secret.name):
            yield document.problem(("spec", "recipients", *path), materials.missing("Secret", secret.name))


def spec_of(document: Document) -> ProviderSpec:
    """The settings in a provider's document."""
    resource = document.resource
    if not isinstance(resource, NotificationProvider | ClusterNotificationProvider):
        raise TypeError(resource.kind)
    return resource.spec


async def check_provider(spec: ProviderSpec, materials: Materials) -> list[tuple[Path, str]]:
    """What keeps a provider from being used: a missing or wrong Secret, a wrong setting; path in its spec and words."""
    missing = list(_missing_secrets(spec, materials))
    if missing:
        return missing
    try:
        secrets, ca = read_secrets(spec, materials.root)
        provider = build_provider(spec, secrets, ca)
    except ProviderConfigError as error:
        return [(tuple(error.field.split(".")), error.message)]
    await provider.aclose()
    return []


def _missing_secrets(spec: ProviderSpec, materials: Materials) -> Iterator[tuple[Path, str]]:
    credentials = spec.credentials_secret_ref
    if credentials is not None and not materials.secret(credentials.name):
        yield ("credentialsSecretRef", "name"), materials.missing("Secret", credentials.name)
    for path, ref in (
        (("http", "tls", "caSecretRef"), spec.http.tls.ca_secret_ref if spec.http else None),
        (("smtp", "caSecretRef"), spec.smtp.ca_secret_ref if spec.smtp else None),
    ):
        if ref is not None and "ca.crt" not in materials.secret(ref.name):
            yield path, materials.missing("Secret", ref.name, "ca.crt")
