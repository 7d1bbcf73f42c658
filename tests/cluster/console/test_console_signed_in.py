"""Signed in by Kubernetes: whose token it is, and what plain Roles let its owner see."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cluster.console.conftest import Signed, Staff


async def test_plain_roles_decide_who_sees_whose_campaigns(signed: Signed) -> None:
    shop, bank = signed.staff.shop, signed.staff.bank
    for who, own, other in (("viewer", shop, bank), ("support", shop, bank), ("teller", bank, shop)):
        shown = await signed.get("/", who)
        assert shown.status == 200
        assert f"/ns/{own}/" in shown.text
        assert f"/ns/{other}/" not in shown.text
    foreign = await signed.get(f"/ns/{bank}/campaigns/statement", "support")
    unknown = await signed.get("/ns/nobody-here/campaigns/statement", "support")
    assert (foreign.status, unknown.status) == (404, 404)
    assert foreign.text.replace(bank, "nobody-here") == unknown.text


async def test_a_session_lasts_until_signed_out_and_its_cookies_are_sealed(signed: Signed) -> None:
    before = await signed.get("/?q=spring")
    assert before.status == 303
    assert before.headers["Location"] == "/sign-in?next=%2F%3Fq%3Dspring"
    token = signed.staff.tokens["support"]
    entered = await signed.sign_in(token, "/?q=spring")
    assert (entered.status, entered.headers["Location"]) == (303, "/?q=spring")
    cookie = entered.headers["Set-Cookie"]
    for wanted in ("__Host-sendonce-0=", "HttpOnly", "SameSite=Strict", "Secure", "Path=/", "Max-Age=3600"):
        assert wanted in cookie
    assert token[:20] not in cookie
    inside = await signed.get("/")
    assert inside.status == 200
    assert "system:serviceaccount:" in inside.text
    assert inside.headers["Cache-Control"] == "no-store"


async def test_whatever_is_wrong_with_a_token_the_answer_is_the_same(signed: Signed, staff: Staff) -> None:
    other_audience = staff.token(staff.shop, "support", "--audience", "somebody-else")
    good = staff.tokens["support"]
    head, body, signature = good.split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=="))
    forged_claims = base64.urlsafe_b64encode(json.dumps(claims | {"sub": "admin"}).encode()).decode().rstrip("=")
    answers = [
        await signed.get("/", token=token, Accept="application/json")
        for token in ("no-token", f"{head}.{forged_claims}.{signature}", other_audience)
    ]
    assert [one.status for one in answers] == [401] * 3
    assert len({one.text for one in answers}) == 1
    assert "not accepted" in answers[0].text
    refused = await signed.sign_in(other_audience)
    assert refused.status == 401
    assert "not accepted" in refused.text
    assert other_audience not in refused.text


async def test_a_token_made_for_the_api_server_is_good_as_well(signed: Signed, staff: Staff) -> None:
    shown = await signed.get("/", token=staff.token(staff.shop, "viewer"))
    assert shown.status == 200


async def test_a_token_that_is_revoked_ends_its_session_with_words(signed: Signed, staff: Staff) -> None:
    staff.cluster.kubectl("create", "serviceaccount", "leaver", "--namespace", staff.shop)
    token = staff.token(staff.shop, "leaver", "--audience", "sendonce-console")
    assert (await signed.sign_in(token)).status == 303
    staff.cluster.kubectl("delete", "serviceaccount", "leaver", "--namespace", staff.shop)
    answer = await signed.until("/", 303)
    assert "why=ended" in answer.headers["Location"]
    assert "session has ended" in (await signed.get(answer.headers["Location"])).text


async def test_too_many_tokens_that_are_no_good_are_not_even_reviewed(signed: Signed) -> None:
    await signed.get("/", "viewer")
    found: list[int] = []
    while 429 not in found and len(found) < 500:
        found.append((await signed.get("/", token=f"guess-{len(found)}")).status)
    assert found[:10] == [401] * 10
    assert found[-1] == 429
    assert (await signed.get("/", "viewer")).status == 200, "whoever was let in before"
    after = await signed.get("/", "support")
    assert after.status == 429
    assert int(after.headers["Retry-After"]) <= 60


async def test_a_form_of_another_page_signs_nobody_in(signed: Signed) -> None:
    token = signed.staff.tokens["support"]
    url = signed.base + "/sign-in"
    async with signed.session.post(url, data={"token": token, "csrf": "0" * 64}, allow_redirects=False) as answer:
        assert answer.status == 403
        assert "Set-Cookie" not in answer.headers
    await signed.get("/sign-in")
    elsewhere = {"Sec-Fetch-Site": "cross-site"}
    async with signed.session.post(url, data={"token": token}, headers=elsewhere, allow_redirects=False) as answer:
        assert answer.status == 403


async def test_signing_in_leads_to_a_page_of_the_console_only(signed: Signed) -> None:
    for following in ("//example.com/", "https://example.com/", "/\\example.com", "javascript:alert(1)"):
        entered = await signed.sign_in(signed.staff.tokens["viewer"], following)
        assert entered.headers["Location"] == "/", following


async def test_without_the_api_server_the_page_says_so(signed: Signed) -> None:
    """Sessions are sealed, not kept: this console knows the session, and can ask nobody about it."""
    assert (await signed.sign_in(signed.staff.tokens["viewer"])).status == 303
    async with signed.without_api_server() as cut_off:
        answer = await cut_off.get("/")
    assert answer.status == 503
    assert "API server can" in answer.text
    assert answer.headers["Retry-After"] == "5"
