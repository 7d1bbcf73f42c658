"""A template as people see it, without a person."""

from __future__ import annotations

from sendonce_console.views.samples import names_of, sample_of
from sendonce_store.spec import Message


def message(**template: object) -> Message:
    given = {"from": "a@example.com", "subject": "Hello {{ name }}", "text": "Your order {{ order }}", **template}
    return Message.from_wire({"channel": "Email", "providerRef": {"name": "smtp"}, "template": given})


def test_every_name_is_shown_as_a_sample() -> None:
    found = sample_of(message(html="<p>{% if vip %}Dear {{ name | upper }}{% endif %}</p>"))
    assert found.content is not None
    assert found.content.subject == "Hello «name»"
    assert "«NAME»" in (found.content.html or "")
    assert names_of(message(html="{% for one in orders %}{{ one }}{% endfor %}")) >= {"name", "order", "orders"}


def test_a_template_that_takes_real_values_says_so() -> None:
    found = sample_of(message(text="{{ amount | money('EUR') }}"))
    assert found.content is None or "«amount»" in (found.content.text or "")
    if found.content is None:
        assert "takes a person's own values" in found.why
