"""From a mail to the store and back.

A campaign is run, a mail's one-click link is used, the next campaign leaves the person out, and `show` renders again
what went out.
"""

from __future__ import annotations

import asyncio
import email
import email.policy
import json
import sys
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from aiosmtpd.smtp import SMTP
from tests.sealed import gives_away

if TYPE_CHECKING:
    from tests.integration.gateway.conftest import Gate

PUBLIC = "https://notify.example.com/base"
PEOPLE = [{"email": f"{name}@example.com"} for name in ("ada", "bob", "cleo")]
TEMPLATE = {
    "from": "news@example.com",
    "subject": "News",
    "text": "News.\n\n{{ unsubscribe_url }}\n{{ preferences_url }}\n",
}


class Mailbox:
    def __init__(self) -> None:
        self.mails: dict[str, EmailMessage] = {}

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        self.mails[envelope.rcpt_tos[0]] = email.message_from_bytes(envelope.content, policy=email.policy.SMTP)
        return "250 OK"


def documents(name: str, port: int) -> str:
    api = "sendonce.dev/v1alpha1"
    message = {"channel": "Email", "providerRef": {"name": "smtp"}, "template": TEMPLATE}
    spec = {"category": "Marketing", "topic": "news", "recipients": {"inline": PEOPLE}, "messages": [message]}
    smtp = {"type": "SMTP", "smtp": {"host": "127.0.0.1", "port": port, "tls": "None"}}
    return yaml.safe_dump_all(
        [
            {"apiVersion": api, "kind": "NotificationCampaign", "metadata": {"name": name}, "spec": spec},
            {"apiVersion": api, "kind": "NotificationProvider", "metadata": {"name": "smtp"}, "spec": smtp},
        ]
    )


async def sendonce(dsn: str, folder: Path, *arguments: str) -> Any:
    command = [sys.executable, "-m", "sendonce_cli.main", *arguments, "--database", dsn, "--data", str(folder / "data")]
    process = await asyncio.create_subprocess_exec(
        *command, "-o", "json", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate()
    assert out, err.decode()
    return json.loads(out)


async def run(dsn: str, folder: Path, name: str, port: int) -> Any:
    file = folder / f"{name}.yaml"
    file.write_text(documents(name, port), "utf-8")
    return await sendonce(dsn, folder, "run", str(file), "--workers", "1", "--gateway", PUBLIC)


async def test_who_presses_the_link_of_a_mail_is_left_out_of_the_next_campaign(
    gate: Gate, dsn: str, tmp_path: Path
) -> None:
    box, loop = Mailbox(), asyncio.get_running_loop()
    async with await loop.create_server(lambda: SMTP(box, loop=loop), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        first = await run(dsn, tmp_path, "spring", port)
        assert first["deliveries"]["sent"] == 3
        mail = box.mails["ada@example.com"]
        assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        link = str(mail["List-Unsubscribe"]).strip("<>").replace(" ", "")
        assert link in mail.get_content()
        assert not gives_away(link, "ada@example.com")
        answer = await gate.post(link.removeprefix(PUBLIC), {"List-Unsubscribe": "One-Click"})
        assert answer.status == 200
        box.mails.clear()
        second = await run(dsn, tmp_path, "summer", port)
    assert (second["deliveries"]["sent"], second["deliveries"]["suppressed"]) == (2, 1)
    assert set(box.mails) == {"bob@example.com", "cleo@example.com"}
    (person,) = await sendonce(dsn, tmp_path, "show", "spring", "ada@example.com")
    content = person["deliveries"][0]["content"]
    assert content["verified"]
    assert content["parts"]["List-Unsubscribe"] == f"<{link}>"
