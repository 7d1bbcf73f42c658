"""The folder of secrets: whose a file is, what it holds, and when it is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from sendonce_gateway.receipts.folder import SecretFolder, reporter_of
from sendonce_store.receipts import EVERY_NAMESPACE, Reporter

MAIL = Reporter("shop", "ses", "mail")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_files_name_says_whose_it_is_and_each_line_is_a_value(tmp_path: Path) -> None:
    for name, text in {
        "shop.ses.mail.topics": "arn:one\n\n  arn:two  \r\n",
        "shop.postmark.eu.mail-2.login": "user:pass word",
        "_.line.chat.channelSecret": "abc",
        "shop.ses.topics": "no provider",
        "shop.twilio.sms.authToken": "\n",
        ".shop.ses.hidden.topics": "x",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "..data").mkdir()
    (tmp_path / "shop.ses.folder.topics").mkdir()
    folder = SecretFolder(tmp_path)
    assert folder.secrets_of(MAIL) == {"topics": ("arn:one", "arn:two")}
    assert folder.secrets_of(Reporter("shop", "postmark", "eu.mail-2")) == {"login": ("user:pass word",)}
    assert folder.secrets_of(Reporter(EVERY_NAMESPACE, "line", "chat")) == {"channelSecret": ("abc",)}
    assert folder.secrets_of(Reporter("shop", "twilio", "sms")) == {"authToken": ()}
    for nobody in (Reporter("bank", "ses", "mail"), Reporter("shop", "ses", ""), Reporter("shop", "ses", "folder")):
        assert folder.secrets_of(nobody) == {}


def test_it_is_read_again_now_and_then_and_what_was_known_stays_while_it_is_away(tmp_path: Path) -> None:
    clock, mounted = Clock(), tmp_path / "mounted"
    mounted.mkdir()
    file = mounted / "shop.ses.mail.topics"
    file.write_text("old")
    folder = SecretFolder(mounted, clock)
    assert folder.secrets_of(MAIL) == {"topics": ("old",)}
    file.write_text("new\nold")
    assert folder.secrets_of(MAIL) == {"topics": ("old",)}
    clock.now += 2.0
    assert folder.secrets_of(MAIL) == {"topics": ("new", "old")}
    file.unlink()
    mounted.rmdir()
    clock.now += 2.0
    assert folder.secrets_of(MAIL) == {"topics": ("new", "old")}
    mounted.mkdir()
    clock.now += 2.0
    assert folder.secrets_of(MAIL) == {}


def test_without_a_folder_nobody_reports() -> None:
    assert SecretFolder(None).secrets_of(MAIL) == {}


@pytest.mark.parametrize(("namespace", "meant"), [("shop", "shop"), ("_", EVERY_NAMESPACE)])
def test_a_line_stands_for_the_namespaces_of_a_cluster_provider(namespace: str, meant: str) -> None:
    assert reporter_of(namespace, "ses", "mail") == Reporter(meant, "ses", "mail")
