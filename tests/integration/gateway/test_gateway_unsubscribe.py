"""One click and no more messages: what GET and POST of a link do, and what no request can do."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING

import aiohttp

from sendonce_store import links

if TYPE_CHECKING:
    from tests.integration.gateway.conftest import Gate, Opening

OUT = ("shop", "Email", "ada@example.com", "Marketing", "newsletter")
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


async def test_get_shows_a_button_and_opts_nobody_out(gate: Gate) -> None:
    path = await gate.link()
    for method in ("GET", "HEAD"):
        async with gate.client.request(method, gate.url + path) as response:
            assert response.status == 200
    answer = await gate.get(path)
    assert answer.title == "Unsubscribe?"
    assert '<form method="post">' in answer.text
    assert 'name="List-Unsubscribe" value="One-Click"' in answer.text
    assert await gate.opt_outs() == set()


async def test_one_click_opts_out_of_the_topic_and_again_is_a_success_too(gate: Gate) -> None:
    path = await gate.link()
    for _ in range(3):
        answer = await gate.post(path, ONE_CLICK)
        assert (answer.status, answer.title) == (200, "You are unsubscribed")
    assert await gate.opt_outs() == {OUT}
    assert [row["source"] for row in await gate.rows("SELECT source FROM sendonce.opt_outs")] == ["one-click"]
    assert 'sendonce_gateway_wishes_total{way="one-click",wish="out"} 1.0' in await gate.metrics()


async def test_one_click_as_a_mailbox_provider_sends_it_in_several_parts(gate: Gate) -> None:
    with aiohttp.MultipartWriter("form-data") as parts:
        parts.append("One-Click").set_content_disposition("form-data", name="List-Unsubscribe")
    answer = await gate.post(await gate.link(), parts)
    assert answer.status == 200
    assert await gate.opt_outs() == {OUT}


async def test_the_pages_button_does_the_same(gate: Gate) -> None:
    answer = await gate.post(await gate.link(), {**ONE_CLICK, "page": "1"})
    assert answer.status == 200
    assert [row["source"] for row in await gate.rows("SELECT source FROM sendonce.opt_outs")] == ["page"]


async def test_a_campaign_without_a_topic_is_left_as_a_whole_category(gate: Gate) -> None:
    await gate.post(await gate.link(topic=""), ONE_CLICK)
    assert await gate.opt_outs() == {(*OUT[:4], "")}


async def test_a_post_without_the_field_changes_nothing(gate: Gate) -> None:
    path = await gate.link()
    for body in (None, b"", b"List-Unsubscribe=no", b"list-unsubscribe=One-Click", b"x=" + b"y" * 4000):
        answer = await gate.post(path, body)
        assert (answer.status, answer.title) == (400, "This can&#x27;t be done")
        assert "nothing was changed" in answer.text.lower()
    assert await gate.opt_outs() == set()


async def test_other_methods_are_refused(gate: Gate) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        async with gate.client.request(method, gate.url + await gate.link()) as response:
            assert response.status == 405
            assert response.headers["Allow"] == "GET, HEAD, POST"


async def test_a_link_of_one_namespace_says_nothing_about_another(gate: Gate) -> None:
    mine, theirs = await gate.link(), await gate.link(namespace="bank")
    token = base64.urlsafe_b64decode(mine[3:] + "==")
    other = base64.urlsafe_b64decode(theirs[3:] + "==")
    # the wish of one under the key of the other
    answer = await gate.post(_path(other[:8] + token[8:]), ONE_CLICK)
    assert answer.status == 404
    assert await gate.opt_outs() == set()


async def test_a_link_that_is_not_whole_is_not_found(gate: Gate) -> None:
    path = await gate.link()
    raw = base64.urlsafe_b64decode(path[3:] + "=" * (-len(path[3:]) % 4))
    bad = {
        "cut": path[:-5],
        "longer": path + "AAAA",
        "another bit": _path(raw[:-1] + bytes([raw[-1] ^ 1])),
        "an unknown key": _path(bytes([raw[0] ^ 1]) + raw[1:]),
        "for another page": (await gate.link("preferences")).replace("/p/", "/u/"),
        "nonsense": "/u/%3Cscript%3E%27",
    }
    for damage, link in bad.items():
        for answer in (await gate.get(link), await gate.post(link, ONE_CLICK)):
            assert (answer.status, answer.title, damage) == (404, "Nothing here", damage)
            assert "copy all of it" in answer.text
            assert "<script>" not in answer.text
    assert await gate.opt_outs() == set()


def _path(token: bytes) -> str:
    return "/u/" + base64.urlsafe_b64encode(token).rstrip(b"=").decode()


async def test_links_outlive_the_recipients_data_and_the_rotation_of_keys(gate: Gate) -> None:
    path = await gate.link()
    await gate.rows("UPDATE sendonce.campaigns SET ended = 'complete', completed_at = now(), data_deleted_at = now()")
    await links.rotate_key(gate.owner, "shop")
    newer = await gate.links(name="summer")
    assert newer.key.id != (await gate.links()).key.id
    assert (await gate.post(path, ONE_CLICK)).status == 200
    assert await gate.opt_outs() == {OUT}


async def test_a_revoked_key_ends_its_links_and_no_others(gate: Gate, open_gate: Opening) -> None:
    path = await gate.link()
    assert await links.revoke_keys(gate.owner, "shop") == 1
    fresh = await open_gate()  # the key is remembered for a minute where it was used
    for answer in (await fresh.get(path), await fresh.post(path, ONE_CLICK)):
        assert (answer.status, answer.title) == (410, "This link is no longer good")
    assert await fresh.opt_outs() == set()
    assert (await fresh.post(await fresh.link(namespace="bank"), ONE_CLICK)).status == 200


async def test_a_link_is_pressed_a_few_times_then_it_is_enough(gate: Gate) -> None:
    path = await gate.link()
    answers = [await gate.get(path) for _ in range(25)]
    assert [answer.status for answer in answers][:20] == [200] * 20
    assert (answers[-1].status, answers[-1].title) == (429, "Too many requests")
    assert int(answers[-1].headers["Retry-After"]) >= 1
    # others are not held up
    assert (await gate.post(await gate.link(address="bob@example.com"), ONE_CLICK)).status == 200


async def test_who_guesses_is_held_up_and_nobody_behind_another_proxy_is(open_gate: Opening) -> None:
    gate = await open_gate(proxies=1)
    guesser, other = {"X-Forwarded-For": "9.9.9.9, 192.0.2.1"}, {"X-Forwarded-For": "9.9.9.9, 192.0.2.2"}
    found = [(await gate.get(f"/u/{no:012d}AAAA", headers=guesser)).status for no in range(70)]
    assert found[:60] == [404] * 60
    assert found[-1] == 429
    assert (await gate.get("/u/000000000000", headers=other)).status == 404
    # the store is not asked for who guesses; whoever is behind the same address with a link that is known gets through
    known, new = await gate.link(), await gate.link(namespace="bank")
    assert [(await gate.get(known, headers=one)).status for one in (guesser, other, guesser)] == [429, 200, 200]
    assert (await gate.get(new, headers=guesser)).status == 429


async def test_what_is_written_in_front_of_the_proxy_makes_nobody_somebody_else(open_gate: Opening) -> None:
    gate = await open_gate(proxies=1)
    found = [
        (await gate.get(f"/u/{no:012d}AAAA", headers={"X-Forwarded-For": f"198.51.100.{no}, 192.0.2.1"})).status
        for no in range(70)
    ]
    assert found[-1] == 429


async def test_a_body_that_is_too_large_is_not_read(gate: Gate) -> None:
    path = await gate.link()
    answer = await gate.post(path, b"List-Unsubscribe=One-Click&" + b"x" * 5000)
    assert (answer.status, answer.title) == (413, "Too large")

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(10_000):
            yield b"x" * 65_536

    # the answer may come while the rest is on its way, to a connection that is closed then
    with suppress(aiohttp.ClientError):
        assert (await gate.post(path, endless())).status == 413
    assert await gate.opt_outs() == set()


async def test_a_body_that_does_not_arrive_is_not_waited_for(open_gate: Opening) -> None:
    gate = await open_gate(body_wait=0.2)
    reader, writer = await asyncio.open_connection(*gate.url.removeprefix("http://").split(":"))
    head = f"POST {await gate.link()} HTTP/1.1\r\nHost: x\r\nContent-Length: 26\r\n\r\n"
    writer.write(head.encode() + b"List-Unsubscribe=")
    async with asyncio.timeout(30):
        assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
        await reader.read()  # and the connection is closed
    writer.close()
    assert await gate.opt_outs() == set()


async def test_pages_load_nothing_run_nothing_and_tell_nobody(gate: Gate) -> None:
    answers = [
        await gate.get(await gate.link()),
        await gate.post(await gate.link(), ONE_CLICK),
        await gate.get(await gate.link("preferences")),
        await gate.get("/u/nonsense"),
        await gate.get("/"),
    ]
    for answer in answers:
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        policy = answer.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        for word in ("<script", "src=", "@import", "url(", "ada@example.com"):
            assert word not in answer.text


async def test_what_comes_from_a_campaign_is_escaped(gate: Gate) -> None:
    topic = "<script>alert('x')</script>"
    for purpose in ("unsubscribe", "preferences"):
        answer = await gate.get(await gate.link(purpose, topic=topic))
        assert answer.status == 200
        assert "<script" not in answer.text
        assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in answer.text
