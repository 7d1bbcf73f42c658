"""A campaign file before it is applied, as the console shows it: mistakes by line, messages, and nothing opened."""

from __future__ import annotations

import pytest

from sendonce_console.pages.preview import in_look
from sendonce_console.views.previewing import Asked, Mistake, preview, source_lines

HEAD = """apiVersion: sendonce.dev/v1alpha1
kind: NotificationCampaign
metadata: {name: spring}
spec:
  category: Marketing
"""
INLINE = """  recipients:
    inline:
    - {id: ada, email: ada@example.com, variables: {name: Ada}}
    - {id: bea, email: bea@example.com, phone: "+15005550006", variables: {name: Bea}}
"""
MESSAGES = """  messages:
  - channel: Email
    providerRef: {name: smtp}
    template:
      from: news@example.com
      subject: Hello {{ name }}
      html: <p>Dear {{ name }}</p>
  - channel: SMS
    providerRef: {name: sms}
    template: {text: "News for {{ name }} ✓"}
"""


async def test_messages_are_rendered_for_some_people_with_the_warnings_of_the_command_line() -> None:
    found = await preview(Asked(HEAD + INLINE + MESSAGES), "default")
    assert not found.mistakes
    assert [(one.channel, one.address) for one in found.messages] == [
        ("Email", "ada@example.com"), ("Email", "bea@example.com"), ("SMS", "+15005550006"),
    ]  # fmt: skip
    assert [one.parts["subject"] for one in found.messages if one.parts and "subject" in one.parts] == [
        "Hello Ada", "Hello Bea",
    ]  # fmt: skip
    sms = found.messages[-1].sms
    assert sms is not None
    assert (sms.encoding, sms.count) == ("UCS-2", 1)
    warned = " ".join(found.warnings)
    assert "without a List-Unsubscribe header" in warned
    assert "characters outside GSM-7" in warned


async def test_links_of_a_gateway_are_known_and_as_long_as_the_real_ones() -> None:
    linked = "{text: 'Leave: {{ unsubscribe_url }} or {{ preferences_url }}', from: a@example.com, subject: Hi}"
    text = f"{HEAD}{INLINE}  messages: [{{channel: Email, providerRef: {{name: smtp}}, template: {linked}}}]\n"
    found = await preview(Asked(text, gateway="https://notify.example.com"), "default")
    parts = found.messages[0].parts
    assert parts is not None
    assert "Leave: https://notify.example.com/u/" in parts["text"]
    assert " or https://notify.example.com/p/" in parts["text"]
    assert f"Leave: {parts['List-Unsubscribe'].strip('<>')} or" in parts["text"]
    assert parts["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert not [words for words in found.warnings if "unsubscribe" in words.lower()]
    unlinked = await preview(Asked(text), "default")
    assert {one.parts for one in unlinked.messages} == {None}
    assert "variable unsubscribe_url is missing for 2 of 2 recipients" in " ".join(unlinked.warnings)


async def test_of_a_stream_nobody_is_known_and_a_pasted_list_is_read() -> None:
    text = HEAD + "  recipients: {stream: {}}\n" + MESSAGES
    found = await preview(Asked(text), "default")
    assert (found.rows, found.messages, found.mistakes) == (0, [], ())
    assert "come from applications" in found.notes[0]
    pasted = await preview(Asked(text, people="id,email,name\nada,ada@example.com,Ada\n"), "default")
    assert [one.ref for one in pasted.messages] == ["ada"]


async def test_whose_messages_are_shown_is_chosen() -> None:
    found = await preview(Asked(HEAD + INLINE + MESSAGES, who=("BEA@example.com", "cid")), "default")
    assert {one.ref for one in found.messages} == {"bea"}
    assert found.missing == ["cid"]


async def test_a_list_of_elsewhere_is_not_opened_and_a_pasted_one_is_read() -> None:
    text = HEAD + "  recipients: {http: {url: 'http://127.0.0.1:9/people'}, format: CSV}\n" + MESSAGES
    unread = await preview(Asked(text), "default")
    assert (unread.rows, unread.messages, unread.mistakes) == (0, [], ())
    assert "nothing outside this text is opened" in unread.notes[0]
    pasted = await preview(Asked(text, people="id,email,name\nzoe,zoe@example.com,Zoe\nx,none,X\n"), "default")
    assert [one.ref for one in pasted.messages] == ["zoe"]
    assert (pasted.rows, pasted.rejected) == (1, 1)


async def test_a_list_in_the_file_is_read() -> None:
    people = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: people}\n"
    people += "data:\n  list: |\n    email,name\n    ada@example.com,Ada\n"
    source = "  recipients: {configMapKeyRef: {name: people, key: list}, format: CSV}\n"
    text = f"{HEAD}{source}{MESSAGES}---\n{people}"
    found = await preview(Asked(text), "default")
    assert [one.address for one in found.messages] == ["ada@example.com"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "there is no NotificationCampaign"),
        ("a: [", 1, ""),
        (HEAD + INLINE + MESSAGES.replace("Hello {{ name }}", "Hello {{ name"), 15, "messages[0].template.subject"),
        (HEAD.replace("Marketing", "Market") + INLINE + MESSAGES, 5, "spec.category"),
        (HEAD + INLINE + MESSAGES.replace("subject:", "subjekt:"), 15, "subjekt"),
        (
            HEAD + INLINE + MESSAGES + "---\n" + HEAD.replace("spring", "other") + INLINE + MESSAGES,
            23,
            "second campaign",
        ),
        (HEAD + "  recipients: {configMapKeyRef: {name: people, key: list}, format: CSV}\n" + MESSAGES, 6, "people"),
    ],
    ids=["nothing", "no-yaml", "template", "value", "field", "two", "no-list"],
)
async def test_mistakes_have_their_line(text: str, line: int, words: str) -> None:
    found = await preview(Asked(text), "default")
    assert found.mistakes
    assert not found.messages
    assert found.mistakes[0].line == line
    assert words in f"{found.mistakes[0].field} {found.mistakes[0].message}"


def test_mistakes_are_shown_with_the_lines_around_them() -> None:
    text = "\n".join(f"line {no}" for no in range(1, 21))
    blocks = source_lines(text, [Mistake(3, "a", "is wrong"), Mistake(15, "", "odd"), Mistake(None, "", "nowhere")], 1)
    assert [[line.number for line in block] for block in blocks] == [[2, 3, 4], [14, 15, 16]]
    assert [line.mistakes for line in blocks[0]] == [(), ["a: is wrong"], ()]
    assert source_lines("", [Mistake(7, "", "x")]) == []


def test_the_rules_for_dark_and_light_count_in_their_frames() -> None:
    html = "<style>@media (prefers-color-scheme: dark) { p { color: white } }</style>"
    assert "@media (min-width: 0px)" in in_look(html, "dark")
    assert "@media (min-width: 99999px)" in in_look(html, "light")
    assert 'content="dark"' in in_look(html, "dark")
    assert 'content="light"' in in_look(html, '"><script>')
