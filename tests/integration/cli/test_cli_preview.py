"""`sendonce preview`: what recipients would get, what is odd about the list, and that nothing is written or sent."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Sendonce = Callable[..., Awaitable[Any]]
ROWS = [f"c{no},n{no}@example.com,N{no},{'gold' if no % 2 else ''},x" for no in range(1, 101)]

FILE = {"configMapKeyRef": {"name": "readers", "key": "r.csv"}, "format": "CSV"}


@pytest.fixture
def preview(sendonce: Sendonce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Any]]:
    """Return a function: rows, template and options in, the command's result out. There is no store to write into."""
    monkeypatch.delenv("SENDONCE_DATABASE")

    async def run(
        *options: str,
        text: str = "Dear {{ name }}",
        rows: list[str] | None = None,
        more: str = "",
        channels: str = "Email",
        recipients: Any = FILE,
    ) -> Any:
        readers = tmp_path / "configmaps" / "readers"
        readers.mkdir(parents=True, exist_ok=True)
        lines = ["id,email,name,tier,unused", *(ROWS if rows is None else rows)]
        (readers / "r.csv").write_text("\n".join(lines) + "\n", "utf-8")
        template = {"from": "news@example.com", "subject": "Hello {{ name }}", "text": text}
        message = {"channel": channels, "providerRef": {"name": "smtp"}, "template": template}
        spec = {
            "category": "Marketing",
            "recipients": recipients,
            "messages": [message],
        }
        campaign = {
            "apiVersion": "sendonce.dev/v1alpha1",
            "kind": "NotificationCampaign",
            "metadata": {"name": "spring"},
            "spec": spec,
        }
        (tmp_path / "spring.yaml").write_text(yaml.safe_dump(campaign) + more, "utf-8")
        ran = await sendonce("preview", str(tmp_path / "spring.yaml"), *options)
        assert not (tmp_path / "data").exists()
        return ran

    return run


Preview = Callable[..., Awaitable[Any]]


async def test_of_a_stream_nobody_is_known_yet(preview: Preview) -> None:
    ran = await preview(recipients={"stream": {}})
    assert ran.code == 0
    assert "warning: the recipients come from applications (recipients.stream): nobody is known before" in ran.out


async def test_chosen_recipients_are_shown_with_all_parts(preview: Preview) -> None:
    ran = await preview("--recipient", "N7@example.com", "--recipient", "c8", "--recipient", "line:10", "-o", "json")
    assert ran.code == 0
    found = ran.data["messages"]
    assert [(one["line"], one["ref"], one["address"]) for one in found] == [
        (8, "c7", "n7@example.com"),
        (9, "c8", "n8@example.com"),
        (10, "c9", "n9@example.com"),
    ]
    assert found[0]["parts"] == {"from": "news@example.com", "subject": "Hello N7", "text": "Dear N7"}


async def test_a_random_choice_can_be_repeated_and_differs_by_seed(preview: Preview) -> None:
    def lines(ran: Any) -> list[int]:
        return [one["line"] for one in ran.data["messages"]]

    first = lines(await preview("--random", "5", "--seed", "7", "-o", "json"))
    assert len(set(first)) == 5
    assert lines(await preview("--random", "5", "--seed", "7", "-o", "json")) == first
    assert lines(await preview("--random", "5", "--seed", "8", "-o", "json")) != first


async def test_what_is_odd_about_the_list_is_told(preview: Preview) -> None:
    rows = [*ROWS[:4], "c9,not-an-address,N,,x", "c10,,N,,x"]
    ran = await preview("--random", "0", rows=rows, text="{{ tier or 'silver' }} {{ city | default('here') }}")
    assert "1 of the source's rows refused: line 6: email: is not a valid email address" in ran.out
    assert "warning: 1 of 5 recipients have no address for any channel" in ran.out
    assert "warning: Email: variable city is missing for 4 of 5 recipients" in ran.out
    assert "warning: no template uses unused" in ran.out
    assert "5 recipients, 1 rows refused. Nothing was sent." in ran.out


async def test_a_missing_variable_is_an_error_for_those_who_are_shown(preview: Preview) -> None:
    ran = await preview("--recipient", "c1", text="{{ nmae }}")
    assert ran.code == 2
    assert ran.err.startswith("error: line 2, Email: text, line 1: 'nmae' is undefined")
    assert "can't be rendered" in ran.out


async def test_a_recipient_who_is_not_in_the_list(preview: Preview) -> None:
    ran = await preview("--recipient", "tom@example.com")
    assert (ran.code, ran.err) == (4, "error: there is no recipient tom@example.com in the source\n")


async def test_a_list_that_cannot_be_read_is_told_with_its_place(preview: Preview) -> None:
    ran = await preview(channels="SMS", text="hi")
    assert ran.code == 2
    assert "spring.yaml:" in ran.err
    assert "has no column phone" in ran.err


async def test_the_template_of_a_config_map_document_is_used(preview: Preview) -> None:
    letter = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "letter"}, "data": {"text": "from the map"},
    }  # fmt: skip
    ran = await preview("--recipient", "c1", more="---\n" + json.dumps(letter), text="", rows=ROWS)
    assert ran.code == 2  # an email needs a body, and nobody refers to the map
    assert "spec.messages[0]" in ran.err


async def test_an_empty_list_is_told(preview: Preview) -> None:
    ran = await preview(rows=[])
    assert ran.code == 0
    assert "the source has no recipient: nothing would be sent" in ran.out
