"""The page of the preview: nothing that is pasted runs in the console's origin."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from tests.console_cases.markup import intruders

if TYPE_CHECKING:
    from tests.integration.console.conftest import Served

# tests that only look share a console
pytestmark = pytest.mark.asyncio(loop_scope="session")
HOSTILE = """apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {name: spring}
spec:
  category: Transactional
  recipients: {inline: [{id: "</textarea><script>alert(1)</script>", email: ada@example.com}]}
  messages:
  - channel: Email
    providerRef: {name: smtp}
    template: {from: a@example.com, subject: "<img src=x onerror=alert(1)>", html: "<script>parent.x = 1</script>"}
"""


async def test_a_hostile_file_is_shown_and_runs_nowhere(seen: Served) -> None:
    shown = await seen.post("/preview", {"text": HOSTILE}, "viewer", page="/preview")
    assert shown.status == 200
    assert not intruders(shown.text)
    assert "spring can be applied" in shown.text
    assert shown.text.count('sandbox=""') == 3  # light, dark, narrow


async def test_a_message_comes_back_in_a_document_of_no_origin(seen: Served) -> None:
    html = "<p>Hi</p><script>parent.x = 1</script>"
    frame = await seen.post("/preview/frame", {"html": html, "look": "dark"}, "viewer", page="/preview")
    assert frame.status == 200
    assert frame.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'; img-src data:")
    assert 'content="dark"' in frame.text
    refused = await seen.post("/preview/frame", {"html": html, "csrf": "x"}, "viewer", page="/preview")
    assert refused.status == 403


async def test_mistakes_are_shown_by_line(seen: Served) -> None:
    text = HOSTILE.replace("Transactional", "<script>x</script>")
    shown = await seen.post("/preview", {"text": text}, "viewer", page="/preview")
    assert shown.status == 422
    assert "Line 5: " in shown.text
    assert "spec.category" in shown.text
    assert not intruders(shown.text)


async def test_nothing_and_too_much_are_refused(seen: Served) -> None:
    empty = await seen.post("/preview", {"text": " "}, "viewer", page="/preview")
    assert (empty.status, "text: is empty" in empty.text) == (400, True)
    odd = await seen.post("/preview", {"text": HOSTILE, "format": "XML"}, "viewer", page="/preview")
    assert (odd.status, "format: XML is none there is" in odd.text) == (400, True)
    large = await seen.post("/preview", {"file": io.BytesIO(b"x" * 1_100_000)}, "viewer", page="/preview")
    assert large.status == 413
    assert (await seen.get("/preview", None)).status == 401
