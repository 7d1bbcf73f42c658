"""From a provider's spec to the provider: one entry per type.

In: ``spec`` of a NotificationProvider or ClusterNotificationProvider, the credentials Secret's keys and bytes,
and the CA certificates where the spec names some. Out: a ready :class:`Provider`, or ``ProviderConfigError``.

The modules of named far ends are loaded when one of their type is built: some need cryptography, which takes its time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from sendonce_store.spec.channels import ProviderType
from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.api.base import Api, Credentials
from sendonce_worker.providers.api.batch import BatchApi, BatchApiProvider
from sendonce_worker.providers.api.facts import Facts
from sendonce_worker.providers.api.lines import Wire
from sendonce_worker.providers.api.provider import ApiProvider
from sendonce_worker.providers.base import Provider
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.http_api.answers import compile_rule
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.secrets_text import as_text
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

Factory = Callable[[ProviderSpec, Mapping[str, bytes], bytes | None], Provider]
_PACKAGE = "sendonce_worker.providers.named"

NAMED: Mapping[ProviderType, str] = {
    ProviderType.SES: "ses",
    ProviderType.SEND_GRID: "sendgrid",
    ProviderType.MAILGUN: "mailgun",
    ProviderType.POSTMARK: "postmark",
    ProviderType.RESEND: "resend",
    ProviderType.TWILIO: "twilio",
    ProviderType.VONAGE: "vonage",
    ProviderType.LINE: "line",
    ProviderType.SLACK: "slack",
    ProviderType.TELEGRAM: "telegram",
    ProviderType.FCM: "fcm",
    ProviderType.WEB_PUSH: "web_push",
    ProviderType.STANDARD_WEBHOOKS: "standard_webhooks",
}
"""Provider type → the module of its far end, with its class as ``API``."""


def build_provider(spec: ProviderSpec, secrets: Mapping[str, bytes], ca: bytes | None = None) -> Provider:
    """Build the provider of ``spec``; call it where the environment's proxies are those to be used.

    ``secrets`` is the Secret of ``credentialsSecretRef`` (empty without one), ``ca`` the PEM under the key ``ca.crt``
    of the Secret that ``caSecretRef`` names. Raises ``ProviderConfigError`` naming the field and the cure.
    """
    return FACTORIES[spec.type](spec, secrets, ca)


def api_of(kind: ProviderType) -> type[Api]:
    """Return the far end's module as a class."""
    api: type[Api] = import_module(f"{_PACKAGE}.{NAMED[kind]}").API
    return api


def facts_of(kind: ProviderType) -> Facts:
    """Return what is said of a named far end."""
    if kind is ProviderType.APPRISE:
        facts: Facts = import_module(f"{_PACKAGE}.apprise").FACTS
        return facts
    return api_of(kind).facts


def _http(spec: ProviderSpec, secrets: Mapping[str, bytes], ca: bytes | None) -> Provider:
    http = spec.http
    if http is None:
        raise ProviderConfigError("http", "is missing")
    settings = HttpSettings(
        url=http.url,
        method=http.method.value,
        headers=http.headers,
        body_template=http.body_template,
        body_format=http.body_format.value,
        message_id_path=http.message_id_path,
        key_header=http.idempotency_key_header,
        key_window=http.key_window_seconds,
        rules=tuple(compile_rule(rule.status, rule.code, rule.as_.value) for rule in http.error_rules),
        ca=ca,
        verify_tls=not http.tls.insecure_skip_verify,
        timeout=spec.timeout_seconds,
        max_in_flight=spec.max_in_flight,
    )
    return HttpProvider(settings, secrets)


def _smtp(spec: ProviderSpec, secrets: Mapping[str, bytes], ca: bytes | None) -> Provider:
    smtp = spec.smtp
    if smtp is None:
        raise ProviderConfigError("smtp", "is missing")
    settings = SmtpSettings(
        host=smtp.host.strip("[]"),
        port=smtp.port,
        tls=smtp.tls.value,
        helo=smtp.helo_name,
        ca=ca,
        verify_tls=not smtp.insecure_skip_verify,
        timeout=spec.timeout_seconds,
        max_in_flight=spec.max_in_flight,
    )
    return SmtpProvider(settings, secrets)


def _named(spec: ProviderSpec, secrets: Mapping[str, bytes], ca: bytes | None) -> Provider:
    words = as_text(secrets)
    made = api_of(spec.type)
    api = made(spec, Credentials(words, made.facts))
    wire = Wire(spec.timeout_seconds, spec.max_in_flight, ca)
    return BatchApiProvider(api, words, wire) if isinstance(api, BatchApi) else ApiProvider(api, words, wire)


def _apprise(spec: ProviderSpec, secrets: Mapping[str, bytes], _ca: bytes | None) -> Provider:
    provider: Provider = import_module(f"{_PACKAGE}.apprise").build(spec, as_text(secrets))
    return provider


FACTORIES: Mapping[ProviderType, Factory] = {
    ProviderType.HTTP: _http,
    ProviderType.SMTP: _smtp,
    ProviderType.APPRISE: _apprise,
    **dict.fromkeys(NAMED, _named),
}
"""Provider type → how it is built. A new far end is a module in ``named`` and a line in :data:`NAMED`."""
