"""Languages, files, HTML and text messages, from the documents to the mail, and back by `show`."""

from __future__ import annotations

import asyncio
import base64
import email
import email.policy
import hashlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml
from aiosmtpd.smtp import SMTP

Sendonce = Callable[..., Awaitable[Any]]
LOGO = b"\x89PNG\r\n.\r\n" + bytes(range(256))
TERMS = b"%PDF-1.7 terms"
MJML = """\
<mjml><mj-body><mj-section><mj-column>
<mj-text>Olá {{ name }}, até {{ due|date }}: {{ total|currency('BRL') }}</mj-text><mj-image src="cid:logo" alt="Logo"/>
</mj-column></mj-section></mj-body></mjml>"""
TEMPLATE: dict[str, Any] = {
    "from": "News <news@example.com>",
    "subject": "Hello {{ name }}",
    "html": "<style>p{color:red}</style><p>Hello {{ name }}, by {{ due|date }}: {{ total|currency('USD') }}</p>",
    "inlineCSS": True,
    "locale": "en",
    "variants": [{"locale": "pt", "subject": "Olá {{ name }}", "configMapRef": {"name": "pt"}}],
    "attachments": [
        {"name": "logo.png", "contentId": "logo", "configMapKeyRef": {"name": "files", "key": "logo.png"}},
        {
            "name": "terms.pdf",
            "secretKeyRef": {"name": "terms", "key": "terms.pdf"},
            "sha256": hashlib.sha256(TERMS).hexdigest(),
        },
    ],
}
PEOPLE = [
    {"email": "ann@example.com", "variables": {"name": "Ann", "due": "2026-12-24", "total": 1234.5}},
    {
        "email": "zé@example.com",
        "locale": "pt-BR",
        "variables": {"name": "Zé & Cia", "due": "2026-12-24", "total": "1234.5"},
    },
]


class Mailbox:
    """A server that keeps every mail. It offers SMTPUTF8."""

    def __init__(self) -> None:
        self.mails: dict[str, EmailMessage] = {}

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        parsed = email.message_from_bytes(envelope.content, policy=email.policy.SMTPUTF8)
        self.mails[envelope.rcpt_tos[0]] = parsed
        return "250 OK"


def documents(template: dict[str, Any], port: int = 2525, **spec: Any) -> list[dict[str, Any]]:
    message = {"channel": "Email", "providerRef": {"name": "smtp"}, "template": template}
    given = {"category": "Marketing", "recipients": {"inline": PEOPLE}, "messages": [message], **spec}
    smtp = {"type": "SMTP", "smtp": {"host": "127.0.0.1", "port": port, "tls": "None"}}
    api = "sendonce.dev/v1alpha1"
    return [
        {"apiVersion": api, "kind": "NotificationCampaign", "metadata": {"name": "letter"}, "spec": given},
        {"apiVersion": api, "kind": "NotificationProvider", "metadata": {"name": "smtp"}, "spec": smtp},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "pt"}, "data": {"mjml": MJML}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "files"},
            "binaryData": {"logo.png": base64.b64encode(LOGO).decode()},
        },
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "terms"},
            "data": {"terms.pdf": base64.b64encode(TERMS).decode()},
        },
    ]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[list[dict[str, Any]]], str]:
    def to_file(given: list[dict[str, Any]]) -> str:
        file = tmp_path / "letter.yaml"
        file.write_text(yaml.safe_dump_all(given), "utf-8")
        return str(file)

    return to_file


@pytest_asyncio.fixture
async def mailbox() -> AsyncIterator[tuple[Mailbox, int]]:
    box = Mailbox()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(box, enable_SMTPUTF8=True, loop=loop), "127.0.0.1", 0)
    async with server:
        yield box, server.sockets[0].getsockname()[1]


def text_in(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


async def run(dsn: str, folder: Path, file: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "sendonce_cli.main", "run", file, "--database", dsn, "--workers", "1"]
    process = await asyncio.create_subprocess_exec(
        *command, "--data", str(folder / "data"), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, err = await process.communicate()
    return process.returncode or 0, err.decode()


async def test_everybody_gets_the_mail_in_their_language_with_its_files_and_it_can_be_shown_again(
    mailbox: tuple[Mailbox, int], write: Any, dsn: str, tmp_path: Path, sendonce: Sendonce
) -> None:
    box, port = mailbox
    code, err = await run(dsn, tmp_path, write(documents(TEMPLATE, port)))
    assert code == 0, err
    ann, ze = box.mails["ann@example.com"], box.mails["zé@example.com"]
    assert (str(ann["Subject"]), str(ze["Subject"])) == ("Hello Ann", "Olá Zé & Cia")
    assert '<p style="color: red;">Hello Ann, by Dec 24, 2026: $1,234.50</p>' in text_in(ann, "html")
    assert text_in(ann, "plain").strip() == "Hello Ann, by Dec 24, 2026: $1,234.50"
    assert text_in(ze, "plain").strip() == "Olá Zé & Cia, até 24 de dez. de 2026: R$ 1.234,50\nLogo"
    for mail in (ann, ze):
        found = {part.get_filename(): part.get_payload(decode=True) for part in mail.walk() if part.get_filename()}
        assert found == {"logo.png": LOGO, "terms.pdf": TERMS}
    shown = await sendonce("show", "letter", "zé@example.com", "-o", "json")
    (delivery,) = shown.data[0]["deliveries"]
    assert delivery["content"]["verdict"] == "content verified"
    assert "logo.png (image/png, shown at cid:logo" in delivery["content"]["parts"]["attachments"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"variants": [{"locale": "qq", "text": "t"}]},
            "spec.messages[0].template.variants[0].locale: there is no locale 'qq'",
        ),
        (
            {"variants": [{"locale": "pt", "text": "a\n{{ b|dat }}"}]},
            "spec.messages[0].template.variants[0].text: line 2 of the template: there is no filter 'dat'",
        ),
        (
            {"attachments": [{"name": "a", "configMapKeyRef": {"name": "files", "key": "b"}}]},
            "spec.messages[0].template.attachments[0].configMapKeyRef: ConfigMap files has no key b; it has logo.png",
        ),
        (
            {"attachments": [{**TEMPLATE["attachments"][1], "sha256": "0" * 64}]},
            "spec.messages[0].template.attachments[0].sha256: is not that of the file, which has ",
        ),
        (
            {"html": None, "mjml": "<mjml><mj-body>\n<mj-texxt/></mj-body></mjml>"},
            "spec.messages[0].template.mjml: line 2 of the template: there is no <mj-texxt> in MJML; did you mean",
        ),
    ],
)
async def test_a_mistake_in_the_content_is_told_before_anything_is_sent(
    write: Any, sendonce: Sendonce, change: dict[str, Any], words: str
) -> None:
    ran = await sendonce("preview", write(documents({**TEMPLATE, **change})))
    assert ran.code == 2
    assert words in ran.err


async def test_attachments_need_a_provider_that_carries_them(write: Any, sendonce: Sendonce) -> None:
    given = documents(TEMPLATE)
    given[1]["spec"] = {"type": "HTTP", "http": {"url": "http://127.0.0.1:9/"}}
    ran = await sendonce("run", write(given))
    assert ran.code == 2
    assert "template.attachments: the provider is of type HTTP, which carries none; use one of type SMTP" in ran.err


async def test_a_preview_tells_what_mailbox_providers_hold_against_a_mail(write: Any, sendonce: Sendonce) -> None:
    given = documents({"from": "me@gmail.com", "subject": "s", "text": "t"})
    given[1]["spec"]["smtp"] |= {"host": "smtp.example.com"}
    ran = await sendonce("preview", write(given))
    assert "warning: Email: Marketing without a List-Unsubscribe header" in ran.out
    assert "warning: Email: From is at gmail.com, whose policy (DMARC)" in ran.out
    assert "warning: Email: From is at gmail.com, the server is smtp.example.com: have it sign with DKIM" in ran.out
    headers = {"List-Unsubscribe": "<https://example.com/u>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    given = documents({"from": "me@news.example.com", "subject": "s", "text": "t", "headers": headers})
    given[1]["spec"]["smtp"] |= {"host": "smtp.example.com"}
    ran = await sendonce("preview", write(given))
    assert "warning" not in ran.out.replace("warning: no template uses due, name, total", "")


async def test_a_preview_counts_languages_segments_and_costs(write: Any, sendonce: Sendonce) -> None:
    people = [
        {"id": f"p{no}", "phone": f"+1500555{no:04}", "locale": locale, "variables": {"name": name}}
        for no, (locale, name) in enumerate([("en", "Ann"), ("pt-BR", "Zé"), ("qq", "“Bob”"), ("en", "x" * 200)])
    ]
    text = {"text": "Hi {{ name }}", "variants": [{"locale": "pt", "text": "Olá {{ name }}"}]}
    message = {"channel": "SMS", "providerRef": {"name": "sms"}, "template": text}
    given = documents({}, recipients={"inline": people}, messages=[message])
    given[1] = {
        **given[1],
        "metadata": {"name": "sms"},
        "spec": {"type": "HTTP", "http": {"url": "http://127.0.0.1:9/"}},
    }
    ran = await sendonce("preview", write(given), "--segment-price", "0.05", "--recipient", "p3")
    assert "GSM-7, 203 of 306 characters, 2 segments" in ran.out
    assert "SMS: by language: pt 1, the template's own 3" in ran.out
    assert "SMS: 4 messages are 5 segments, 0.25 at 0.05 each; at most 2 each" in ran.out
    assert (
        "warning: SMS: 2 of 4 messages have characters outside GSM-7, and so 70 instead of 160 in a segment" in ran.out
    )
    assert '“ (U+201C, write ") in 1' in ran.out
    assert "warning: the locale of 1 of 4 recipients is unknown (qq)" in ran.out
    data = (await sendonce("preview", write(given), "--recipient", "p3", "-o", "json")).data
    assert data["messages"][0]["sms"] == {"encoding": "GSM-7", "units": 203, "count": 2, "room": 306}
    assert json.dumps(data["notes"]).count("segments") == 1


async def test_a_price_that_is_none_is_told(write: Any, sendonce: Sendonce) -> None:
    ran = await sendonce("preview", write(documents(TEMPLATE)), "--segment-price", "cheap")
    assert ran.code == 2
    assert "'cheap' is no amount; give a number such as 0.075" in ran.err
