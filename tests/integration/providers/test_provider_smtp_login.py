"""SMTP over TLS and with a login, and settings that cannot work."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest

from sendonce_worker.providers.base import Message
from sendonce_worker.providers.errors import Kind, ProviderConfigError, SendError
from sendonce_worker.providers.smtp.provider import SmtpProvider, SmtpSettings

if TYPE_CHECKING:
    from tests.integration.providers.conftest import SmtpFarEnd

LOGIN = {"username": b"ann", "password": b"open-sesame"}


def clear() -> None:
    """Let everything through."""


def build(far_end: SmtpFarEnd, secrets: dict[str, bytes] | None = None, **settings: Any) -> SmtpProvider:
    plain: dict[str, Any] = {"host": "127.0.0.1", "port": far_end.port, "tls": "None", "timeout": 5.0, "patience": 5.0}
    return SmtpProvider(SmtpSettings(**(plain | settings)), secrets or {})


async def refused(provider: SmtpProvider, message: Message) -> SendError:
    with pytest.raises(SendError) as caught:
        await provider.send(message, clear)
    return caught.value


def verbs(far_end: SmtpFarEnd) -> list[str]:
    return [command[:4].strip() for command in far_end.commands]


async def test_starttls_comes_before_the_login_and_the_greeting_is_repeated(
    smtp_far_end: SmtpFarEnd, server_tls: ssl.SSLContext, ca: bytes, message: Message
) -> None:
    smtp_far_end.start_tls = server_tls
    smtp_far_end.extensions += ("AUTH PLAIN LOGIN",)
    provider = build(smtp_far_end, LOGIN, tls="StartTLS", ca=ca)
    await provider.send(message, clear)
    assert verbs(smtp_far_end)[:4] == ["EHLO", "STAR", "EHLO", "AUTH"]
    assert len(smtp_far_end.mails) == 1
    await provider.aclose()


async def test_a_server_that_does_not_offer_starttls_gets_no_login_and_no_mail(
    smtp_far_end: SmtpFarEnd, message: Message
) -> None:
    error = await refused(build(smtp_far_end, LOGIN, tls="StartTLS"), message)
    assert (error.kind, error.code) == (Kind.ACCOUNT, "starttls_missing")
    assert verbs(smtp_far_end)[:1] == ["EHLO"]
    assert "AUTH" not in verbs(smtp_far_end)


async def test_words_slipped_in_after_starttls_end_the_session(
    smtp_far_end: SmtpFarEnd, server_tls: ssl.SSLContext, ca: bytes, message: Message
) -> None:
    smtp_far_end.start_tls = server_tls
    smtp_far_end.will("STAR", b"220 go ahead\r\n250 injected\r\n")
    error = await refused(build(smtp_far_end, LOGIN, tls="StartTLS", ca=ca), message)
    assert (error.kind, error.code) == (Kind.TEMPORARY, "garbage_answer")
    assert "AUTH" not in verbs(smtp_far_end)


async def test_login_by_plain_is_one_command(smtp_far_end: SmtpFarEnd, message: Message) -> None:
    smtp_far_end.extensions += ("AUTH LOGIN PLAIN",)
    await build(smtp_far_end, LOGIN).send(message, clear)
    assert smtp_far_end.commands[1] == "AUTH PLAIN AGFubgBvcGVuLXNlc2FtZQ=="


async def test_login_where_only_login_is_offered(smtp_far_end: SmtpFarEnd, message: Message) -> None:
    smtp_far_end.extensions += ("AUTH LOGIN",)
    smtp_far_end.will("AUTH", b"334 VXNlcm5hbWU6\r\n")
    smtp_far_end.will("YW5U", b"334 UGFzc3dvcmQ6\r\n")
    smtp_far_end.will("B3BL", b"235 2.7.0 welcome\r\n")
    await build(smtp_far_end, LOGIN).send(message, clear)
    assert smtp_far_end.commands[1:4] == ["AUTH LOGIN", "YW5u", "b3Blbi1zZXNhbWU="]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (b"535 5.7.8 bad credentials for open-sesame\r\n", Kind.ACCOUNT),
        (b"454 4.7.0 too many login attempts\r\n", Kind.RATE_LIMITED),
    ],
)
async def test_a_failed_login_burns_no_recipient_and_tells_no_password(
    smtp_far_end: SmtpFarEnd, message: Message, reply: bytes, kind: Kind
) -> None:
    smtp_far_end.extensions += ("AUTH PLAIN",)
    smtp_far_end.will("AUTH", reply)
    error = await refused(build(smtp_far_end, LOGIN), message)
    assert error.kind is kind
    assert "open-sesame" not in str(error)


async def test_a_server_without_login_is_an_account_error(smtp_far_end: SmtpFarEnd, message: Message) -> None:
    error = await refused(build(smtp_far_end, LOGIN), message)
    assert (error.kind, error.code) == (Kind.ACCOUNT, "auth_missing")


@pytest.mark.parametrize(
    ("secrets", "settings", "field"),
    [
        (LOGIN, {"host": "mail.example.com", "tls": "None"}, "smtp.tls"),
        ({"username": b"ann"}, {}, "credentialsSecretRef"),
        ({"username": b"ann", "password": b"sesame\n"}, {}, "credentialsSecretRef"),
        ({"username": b"\xff", "password": b"x"}, {}, "credentialsSecretRef"),
        ({}, {"tls": "TLS", "ca": b"no certificate"}, "smtp.caSecretRef"),
        ({}, {"helo": "two words"}, "smtp.heloName"),
    ],
)
def test_a_setting_that_cannot_work_is_named_when_the_provider_is_built(
    secrets: dict[str, bytes], settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(ProviderConfigError) as caught:
        SmtpProvider(SmtpSettings(**({"host": "127.0.0.1", "tls": "None"} | settings)), secrets)
    assert caught.value.field == field
    assert "sesame" not in str(caught.value)
