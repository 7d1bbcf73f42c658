"""An order whose reply was lost is asked for again under its own name, and is one order."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sendonce_kubectl import waiting
from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.kubectl import Kubectl
from sendonce_kubectl.orders import action

ORDER = action({"metadata": {"name": "spring", "namespace": "shop", "uid": "u"}}, "Promote")
LOST = "Unable to connect to the server: unexpected EOF"
THERE = 'Error from server (AlreadyExists): notificationactions.sendonce.dev "x" already exists'


def scripted(folder: Path, *answers: tuple[int, str]) -> Kubectl:
    """A kubectl that gives these answers in turn: exit code, and what it prints."""
    program = folder / "kubectl"
    (folder / "answers.json").write_text(json.dumps(answers), "utf-8")
    program.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib, sys\n"
        f"file = pathlib.Path({str(folder / 'answers.json')!r})\n"
        "(code, words), *rest = json.loads(file.read_text())\n"
        "file.write_text(json.dumps(rest))\n"
        "print(words, file=sys.stderr if code else sys.stdout)\n"
        "sys.exit(code)\n",
        "utf-8",
    )
    program.chmod(0o755)
    return Kubectl(str(program))


def given(folder: Path, *answers: tuple[int, str]) -> tuple[dict[str, Any], bool]:
    return waiting.give(scripted(folder, *answers), ORDER, dry_run=False)


def test_an_order_that_was_made_though_its_reply_was_lost_is_ours(tmp_path: Path) -> None:
    assert given(tmp_path, (1, LOST), (1, THERE), (0, json.dumps(ORDER))) == (ORDER, True)


def test_an_order_that_was_not_made_is_made(tmp_path: Path) -> None:
    assert given(tmp_path, (1, LOST), (1, LOST), (0, json.dumps(ORDER))) == (ORDER, True)


def test_an_order_that_was_there_before_is_not_ours(tmp_path: Path) -> None:
    assert given(tmp_path, (1, THERE), (0, json.dumps(ORDER))) == (ORDER, False)


def test_a_server_that_stays_away_is_told(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="can't be reached") as caught:
        given(tmp_path, *[(1, LOST)] * 5)
    assert caught.value.code is Exit.UNREACHABLE


def test_what_is_no_object_is_told(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="printed no object"):
        given(tmp_path, (0, "<html>"))


def test_a_kubectl_that_can_not_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="KUBECTL must name a kubectl"):
        Kubectl(str(tmp_path / "none")).run("version")
