"""Limits, sessions, forms and settings: what lets people in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from multidict import CIMultiDict
from prometheus_client import CollectorRegistry

from sendonce_console.access.forms import Forms
from sendonce_console.access.kubernetes import KubernetesDoor, Tries
from sendonce_console.access.local import LocalDoor
from sendonce_console.access.reviews import Remembered
from sendonce_console.access.sessions import Sessions
from sendonce_console.access.sign_in import own_page
from sendonce_console.metrics import ConsoleMetrics
from sendonce_console.settings import ConsoleSettings, read_settings
from sendonce_console.web.problems import ProblemError
from sendonce_console.web.templating import address
from sendonce_store.applied import applied_by
from sendonce_store.environment import SettingsError

KEY = b"k" * 32


def request_with(cookies: dict[str, str], **headers: str) -> web.Request:
    jar = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return make_mocked_request("GET", "/", headers={"Cookie": jar, **headers})


def cookies_of(response: web.Response) -> dict[str, str]:
    return {name: morsel.value for name, morsel in response.cookies.items() if morsel.value}


def door_of(reviews: Any) -> KubernetesDoor:
    """A door behind one proxy, with metrics of its own."""
    settings = ConsoleSettings(dsn="", key=KEY, proxy_hops=1)
    return KubernetesDoor(reviews, settings, ConsoleMetrics(CollectorRegistry()))


def test_an_address_waits_after_so_many_tries_and_others_do_not() -> None:
    now = [0.0]
    tries = Tries(lambda: now[0])
    for _ in range(10):
        assert tries.wait("a") == 0
        tries.note("a")
    assert tries.wait("a") == pytest.approx(6)
    assert tries.wait("b") == 0
    now[0] = 6.1
    assert tries.wait("a") == 0


def test_all_together_wait_when_many_addresses_try() -> None:
    now = [0.0]
    tries = Tries(lambda: now[0])
    for no in range(300):
        tries.note(f"address-{no}")
    assert tries.wait("a new one") > 0
    now[0] = 1.0
    assert tries.wait("a new one") == 0


def test_who_tries_is_who_our_proxy_saw_and_not_what_the_caller_wrote() -> None:
    door = door_of(Mock())
    lines = CIMultiDict([("X-Forwarded-For", "9.9.9.9"), ("X-Forwarded-For", "192.0.2.1")])
    assert door.caller(make_mocked_request("GET", "/", headers=lines)) == "192.0.2.1"


@pytest.mark.parametrize("token", ["\udcff\udcfe", "é", "x" * 20_000, ""])
async def test_what_can_be_no_token_is_refused_as_a_wrong_one_and_nobody_is_asked(token: str) -> None:
    reviews = Mock()
    door = door_of(reviews)
    reviews.who = AsyncMock(return_value=None)
    with pytest.raises(ProblemError) as refused:
        await door.identify(make_mocked_request("GET", "/"), token)
    assert refused.value.status == 401
    assert reviews.who.await_count == (token == "")


async def test_bytes_that_are_no_text_let_nobody_in_and_break_nothing() -> None:
    # as aiohttp gives them; its own mocked request can't have them
    wild = Mock(host="localhost", cookies={}, headers={"Authorization": "Bearer \udcff"})
    assert await LocalDoor("t").admit(wild) is None
    forms = Forms(KEY, local=True)
    with pytest.raises(ProblemError, match="403"):
        forms.check(request_with({forms.cookie: "s" * 32}), "\udcff")


def test_a_session_is_sealed_and_one_of_another_key_or_too_old_is_none() -> None:
    token = "t" * 9_000
    sessions, response = Sessions(KEY, 3600), web.Response()
    sessions.begin(response, token)
    kept = cookies_of(response)
    assert len(kept) == 4, "a long token is spread over several cookies"
    assert all(token[:16] not in value and len(value) <= 3500 for value in kept.values())
    assert sessions.token(request_with(kept)) == token
    assert Sessions(b"another" * 8, 3600).token(request_with(kept)) is None
    assert Sessions(KEY, -1).token(request_with(kept)) is None
    forged = {**kept, "__Host-sendonce-0": kept["__Host-sendonce-0"][:-2] + "AA"}
    assert sessions.token(request_with(forged)) is None
    assert sessions.token(request_with({})) is None
    assert not sessions.fits("t" * 20_000)


def test_a_form_is_taken_from_the_browser_that_it_was_made_for() -> None:
    forms = Forms(KEY, local=False)
    seed = forms.seed(request_with({}))
    mine = {forms.cookie: seed}
    forms.check(request_with(mine), forms.token(seed))
    for cookies, token, headers in (
        (mine, "0" * 64, {}),
        (mine, "", {}),
        ({}, forms.token(seed), {}),
        ({forms.cookie: forms.seed(request_with({}))}, forms.token(seed), {}),
        (mine, forms.token(seed), {"Sec-Fetch-Site": "cross-site"}),
        (mine, forms.token(seed), {"Sec-Fetch-Site": "same-site"}),
    ):
        with pytest.raises(ProblemError):
            forms.check(request_with(cookies, **headers), token)


async def test_an_answer_is_remembered_an_error_is_not_and_one_question_is_asked_once() -> None:
    asked: list[str] = []

    async def ask() -> str:
        asked.append("asked")
        if len(asked) == 1:
            raise ProblemError(503, "away", "")
        return "yes"

    kept = Remembered[str](60)
    with pytest.raises(ProblemError):
        await kept.answer("may", ask)
    assert [await kept.answer("may", ask) for _ in range(3)] == ["yes"] * 3
    assert len(asked) == 2
    forgetful = Remembered[str](0)
    for _ in range(2):
        await forgetful.answer("may", ask)
    assert len(asked) == 4


def test_signing_in_leads_to_a_page_of_ours() -> None:
    assert own_page("/ns/shop/campaigns/spring?state=failed") == "/ns/shop/campaigns/spring?state=failed"
    for elsewhere in (
        "",
        "//example.com",
        "https://example.com",
        "/\\example.com",
        "/sign-out",
        "/a\nb",
        "javascript:x",
    ):
        assert own_page(elsewhere) == "/"


def test_an_address_of_ours_escapes_its_parts() -> None:
    assert (
        address("/ns/{namespace}/x", {"q": "a&b", "none": None}, namespace="a/../b?c") == "/ns/a%2F..%2Fb%3Fc/x?q=a%26b"
    )


def test_settings_are_read_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY)
    found = read_settings(
        {"SENDONCE_DSN": "x", "SENDONCE_CONSOLE_KEY_FILE": str(key), "SENDONCE_CONSOLE_LEVERS": "false"}
    )
    assert (found.key, found.levers, found.any_audience) == (KEY, False, True)
    assert read_settings({"SENDONCE_DSN": "x", "SENDONCE_GATEWAY_URL": "https://n.example.com/"}).gateway_url == (
        "https://n.example.com"
    )
    assert read_settings({"SENDONCE_DSN": "x"}).key != read_settings({"SENDONCE_DSN": "x"}).key
    assert (read_settings({"SENDONCE_DSN": "x"}).ops_port, found.log_style, found.log_level) == (9090, "json", "INFO")
    off = read_settings({"SENDONCE_DSN": "x", "SENDONCE_OPS_PORT": "", "SENDONCE_LOG_FORMAT": "plain"})
    assert (off.ops_port, off.log_style) == (None, "console")
    (tmp_path / "short").write_text("short")
    for env, said in (
        ({}, "SENDONCE_DSN is not set"),
        ({"SENDONCE_DSN": "x", "SENDONCE_CONSOLE_KEY_FILE": str(tmp_path / "short")}, "has 5 bytes"),
        ({"SENDONCE_DSN": "x", "SENDONCE_CONSOLE_KEY_FILE": str(tmp_path / "none")}, "can't be read"),
        ({"SENDONCE_DSN": "x", "SENDONCE_CONSOLE_LEVERS": "perhaps"}, "neither true nor false"),
        ({"SENDONCE_DSN": "x", "SENDONCE_LOG_LEVEL": "loud"}, "SENDONCE_LOG_LEVEL: 'LOUD' is unknown"),
        ({"SENDONCE_DSN": "x", "SENDONCE_OPS_PORT": "ops"}, "SENDONCE_OPS_PORT: 'ops' is not a number"),
        ({"SENDONCE_DSN": "x", "SENDONCE_CONSOLE_RIGHTS_SECONDS": "60"}, "not a number from 0 to 10"),
        ({"SENDONCE_DSN": "x", "SENDONCE_GATEWAY_URL": "n.example.com"}, "SENDONCE_GATEWAY_URL:"),
        ({"SENDONCE_CONSOLE_PASSWORD_FILE": str(key)}, "SENDONCE_STORE_ADDRESS is not set"),
        ({"SENDONCE_CONSOLE_PASSWORD_FILE": str(key), "SENDONCE_STORE_ADDRESS": "nonsense"}, "SENDONCE_STORE_ADDRESS:"),
    ):
        with pytest.raises(SettingsError, match=said):
            read_settings(env)


def test_the_page_of_the_docs_names_every_setting() -> None:
    root = Path(__file__).resolve().parents[3]
    read = set(re.findall(r'"(SENDONCE_\w+)"', (root / "console/sendonce_console/settings.py").read_text("utf-8")))
    told = set(re.findall(r"`(SENDONCE_\w+)`", (root / "docs/console.md").read_text("utf-8")))
    # of all programs alike (store/sendonce_store/environment.py), and of those with a login of their own
    shared = {"SENDONCE_DSN", "SENDONCE_DSN_FILE", "SENDONCE_GATEWAY_URL", "SENDONCE_LOG_FORMAT", "SENDONCE_LOG_LEVEL"}
    login = {"SENDONCE_CONSOLE_PASSWORD_FILE", "SENDONCE_STORE_ADDRESS"}
    assert read | shared | login == told


def test_who_applied_an_object_is_its_annotation_or_the_tool_that_wrote_its_spec_last() -> None:
    wrote = [
        {"manager": "kubectl-create", "time": "2026-12-01T09:00:00Z", "fieldsV1": {"f:spec": {}}},
        {"manager": "argocd-controller", "time": "2026-12-01T10:00:00Z", "fieldsV1": {"f:spec": {"f:suspend": {}}}},
        {"manager": "sendonce-operator", "time": "2026-12-01T11:00:00Z", "fieldsV1": {"f:status": {}}},
    ]
    assert applied_by({"managedFields": wrote}) == "argocd-controller"
    assert applied_by({"managedFields": wrote, "annotations": {"sendonce.dev/applied-by": "mia"}}) == "mia"
    assert applied_by({}) is None
