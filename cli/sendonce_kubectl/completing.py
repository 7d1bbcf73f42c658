"""Completion: the words of a command line in; what could come next out, as kubectl asks for it. Never an error.

kubectl runs `kubectl_complete-campaign` with the words behind `campaign`, the last of them begun, and reads candidates
and, in the last line, a directive of cobra's: 0 also complete files, 4 do not.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click
from click.shell_completion import ShellComplete

from sendonce_kubectl.failing import PluginError
from sendonce_kubectl.options import kubectl_of

__all__ = ["answer", "known"]

SECONDS = 3
FILES, NO_FILES = 0, 4
_MOST = 200
_NAMES = '--output=jsonpath={range .items[*]}{.metadata.name}{"\\n"}{end}'
_QUESTIONS: Mapping[str, Sequence[str]] = {
    "campaigns": ("get", "notificationcampaigns.sendonce.dev", _NAMES),
    "namespaces": ("get", "namespaces", _NAMES),
    "contexts": ("config", "get-contexts", "--output=name"),
}


def answer(cli: click.Group, words: Sequence[str]) -> str:
    """Candidates, one a line, and the directive."""
    signal.signal(signal.SIGALRM, lambda *_: _too_late())
    signal.alarm(SECONDS)
    try:
        found = ShellComplete(cli, {}, "kubectl campaign", "").get_completions(list(words[:-1]), (words or [""])[-1])
    except Exception:  # noqa: BLE001 - a shell that waits for words must get none rather than a traceback
        return f":{NO_FILES}"
    finally:
        signal.alarm(0)
    kinds = {one.type for one in found}
    lines = [one.value + (f"\t{one.help}" if one.help else "") for one in found if one.type == "plain"]
    return "\n".join([*lines, f":{FILES if kinds & {'file', 'dir'} else NO_FILES}"])


def _too_late() -> NoReturn:
    raise TimeoutError


def known(what: str, given: Mapping[str, Any]) -> list[str]:
    """Names in the cluster that the command line's options lead to; none where it can't be asked."""
    try:
        kubectl = kubectl_of(given.get("namespace"), given.get("context"), given.get("kubeconfig"))
        return kubectl.run(*_QUESTIONS[what]).splitlines()[:_MOST]
    except (PluginError, subprocess.SubprocessError):
        return []
