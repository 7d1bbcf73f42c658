"""From a provider's spec to the provider: one entry per type.

In: ``spec`` of a NotificationProvider or ClusterNotificationProvider, the credentials Secret's keys and bytes,
and the CA certificates where the spec names some. Out: a ready :class:`Provider`, or ``ProviderConfigError``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sendonce_store.spec.provider import ProviderSpec
from sendonce_worker.providers.base import Provider
from sendonce_worker.providers.errors import ProviderConfigError
from sendonce_worker.providers.http_api.answers import compile_rule
from sendonce_worker.providers.http_api.provider import HttpProvider, HttpSettings
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

Factory = Callable[[ProviderSpec, Mapping[str, bytes], bytes | None], Provider]


def build_provider(spec: ProviderSpec, secrets: Mapping[str, bytes], ca: bytes | None = None) -> Provider:
    """Build the provider of ``spec``; call it where the environment's proxies are those to be used.

    ``secrets`` is the Secret of ``credentialsSecretRef`` (empty without one), ``ca`` the PEM under the key ``ca.crt``
    of the Secret that ``caSecretRef`` names. Raises ``ProviderConfigError`` naming the field and the cure.
    """
    factory = FACTORIES.get(spec.type.value)
    if factory is None:
        raise ProviderConfigError("type", f"{spec.type.value} is not supported yet: use one of {', '.join(FACTORIES)}")
    return factory(spec, secrets, ca)


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


FACTORIES: Mapping[str, Factory] = {"HTTP": _http, "SMTP": _smtp}
"""Provider type → how it is built. A new provider is a sub-package and a line here."""
