"""A newsletter as shops send them: 20 KB of HTML in tables, 10 variables, a loop, a condition, a date, amounts.

In: a server, a far end. Out: how fast one worker sends it over SMTP, beside the same worker with the same mail without
anything to fill in (what is left is rendering) and with a short text, A B C A B C; and what a mail costs in CPU time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from tests.bench import campaigns
from tests.bench.campaigns import FarEnd
from tests.bench.figures import Row, middle
from tests.bench.sending import Contest, Run, Scale
from tests.bench.server import Server
from tests.bench.sinks import Sink

from sendonce_rendering import compile_message

__all__ = ["TEMPLATE", "VARIABLES", "measure"]

_STYLE = "font-family:Helvetica,Arial,sans-serif;font-size:15px;line-height:22px;color:#333333;padding:8px 24px"
_PARAGRAPH = (
    "Our workshop has been busy: new colours, a longer warranty, and repairs that you can follow step by step. Read "
    "how a jacket is made to last, which parts we replace free of charge, and what we learnt from those that came "
    "back. "
)
_HEAD = """\
<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>{{ subject_line }}</title><style>
.card{border:1px solid #dddddd} .price{font-weight:bold} @media (max-width:600px){.card{width:100%}}
</style></head>
<body><div style="display:none">{{ preheader }}</div>
<table role="presentation" width="600"><tr><td class="card"><h1>Hello {{ name }},</h1>
{% if points > 100 %}<p>You have {{ points|number }} points.</p>{% else %}<p>Welcome, {{ city }}!</p>{% endif %}
"""
_OFFERS = """\
<table>{% for offer in offers %}
<tr><td class="card"><a href="https://example.com/{{ offer.id }}?r={{ id }}">{{ offer.name }}
</a></td><td class="price">{{ offer.price|currency(currency) }}</td></tr>{% endfor %}</table>
"""
_FOOT = """\
<p>Valid until {{ until|date }}. <a href="https://example.com/unsubscribe/{{ id }}">Unsubscribe</a></p>
</td></tr></table></body></html>
"""
_ROW = f'<table role="presentation"><tr><td style="{_STYLE}"><p>{_PARAGRAPH}</p></td></tr></table>\n'

TEMPLATE: dict[str, Any] = {
    "from": "Example Shop <news@example.com>",
    "subject": "{{ subject_line }}",
    "html": _HEAD + _ROW * 24 + _OFFERS + _ROW * 24 + _FOOT,
    "inlineCSS": True,
    "headers": {"List-Unsubscribe": "<https://example.com/unsubscribe/{{ id }}>"},
}
VARIABLES: dict[str, Any] = {
    "subject_line": "News from the workshop",
    "preheader": "New colours, and repairs that you can follow",
    "name": "Zoë Example",
    "city": "Osaka",
    "points": 1250,
    "currency": "EUR",
    "until": "2026-12-24",
    "id": "customer-4711",
    "locale": "en-GB",
    "offers": [{"id": f"o{no}", "name": f"Jacket {no}", "price": 99.5 + no} for no in range(5)],
}


async def measure(server: Server, sink: Sink, folder: Path, scale: Scale) -> list[Row]:
    """The newsletter's rate ÷ that of the same mail without anything to fill in, and of a short text."""
    contests = {
        "render_newsletter": _contest(server, sink, folder, scale, TEMPLATE),
        "newsletter_ready_made": _contest(server, sink, folder, scale, _ready_made()),
        "short_text": Contest(server, sink, FarEnd(campaigns.SMTP, sink.port, database="bench_short"), folder, scale),
    }
    async with AsyncExitStack() as stack:
        for contest in contests.values():
            await stack.enter_async_context(server.database(contest.database))
            await contest.prepare()
        for _ in range(scale.rounds):
            for name, contest in contests.items():
                await contest.ours(name, 1)
    return _rows({name: contest.runs[name] for name, contest in contests.items()})


def _contest(server: Server, sink: Sink, folder: Path, scale: Scale, template: dict[str, Any]) -> Contest:
    database = "bench_newsletter" if template is TEMPLATE else "bench_ready_made"
    far_end = FarEnd(campaigns.SMTP, sink.port, template=template, variables=VARIABLES, database=database)
    return Contest(server, sink, far_end, folder, scale)


def _ready_made() -> dict[str, Any]:
    """The newsletter as one person gets it, for everybody."""
    content = compile_message(TEMPLATE, "Email").render(VARIABLES)
    parts = {"from": content.sender, "subject": content.subject, "text": content.text, "html": content.html}
    return {**parts, "headers": dict(content.headers)}


def _rows(runs: Mapping[str, Sequence[Run]]) -> list[Row]:
    """Rates and their ratios round by round, and CPU seconds per 1,000."""
    mine, ready, short = runs.values()
    to_ready = middle(a.rate / b.rate for a, b in zip(mine, ready, strict=True))
    to_short = middle(b.rate / c.rate for b, c in zip(ready, short, strict=True))
    found = [
        Row("render_newsletter", middle(run.rate for run in mine), "deliveries/s", to_ready, "the same, ready-made"),
        Row("newsletter_ready_made", middle(run.rate for run in ready), "deliveries/s", to_short, "a short text"),
    ]
    cpu = {name: middle(run.cpu["worker"] for run in each) for name, each in runs.items()}
    return [*found, *(Row(f"{name}_cpu_worker", value, "CPU s per 1,000") for name, value in cpu.items())]
