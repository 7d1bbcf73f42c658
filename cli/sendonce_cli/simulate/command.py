"""``sendonce simulate``: options become ``SimulatorSettings``, and the far end runs until SIGTERM.

In: the command line. Out: one JSON line with the ports on standard output once they are bound; then
the ledger's file. A bad option ends with status 2 before any port is bound.
"""

import asyncio
import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import uvloop

from sendonce_cli.simulate.behaviour import Behaviour, Chances, Pace, SettingsError
from sendonce_cli.simulate.control import read_order
from sendonce_cli.simulate.fate import check_rule
from sendonce_cli.simulate.ledger import LedgerError
from sendonce_cli.simulate.server import serve
from sendonce_cli.simulate.settings import ChanceBy, RefuseAt, SimulatorSettings, SmtpTls, Style

_EPILOG = """\b
Addresses that name their fate (local part, or the start of another address):
  ok+…           always accepted, whatever the chances say
  permanent+…    refused for good          account+…    account-level error
  transientN+…   refused N times           throttleN+…  throttled N times
  dropN+…        N times no answer, not accepted; stallN+…: the same after --hang-seconds
  lostN+…        accepted, N answers lost  garbageN+…   accepted, N answers garbage
  hangN+…        accepted late, N times    slowN+…      accepted at once, answered late
N is 1 by default: transient3+mia@example.com is accepted at the fourth attempt.

\b
Other paths:
  GET /ledger, GET /ledger/summary, GET /healthz
  POST /control   {"outage": "refuse"}, {"throttle_seconds": 3}, {"forget_keys": true},
                  {"chances": {"lost": 0.1}}, {"pace": "500/1"}, {"reset": true}, …
The control port serves them too, and stays up when the others are down.

\b
Examples:
  sendonce simulate --ledger far-end.ndjson
  sendonce simulate --ledger l.ndjson --chance lost=0.02 --chance transient=0.1 --seed 7
  sendonce simulate --ledger l.ndjson --style line --key-header X-Line-Retry-Key
  sendonce simulate --ledger l.ndjson --pace 500/1 --key-window 0
"""

_Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def _chance(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> Chances:
    """Read ``NAME=PROBABILITY`` texts."""
    try:
        values = {name: float(value) for name, _, value in (t.partition("=") for t in texts)}
        return read_order({"chances": values}, Behaviour(), Behaviour()).behaviour.chances
    except SettingsError as error:
        raise click.BadParameter(str(error)) from error
    except ValueError as error:
        problem = "NAME=PROBABILITY is needed, such as lost=0.02"
        raise click.BadParameter(problem) from error


def _pace(_: click.Context, __: click.Parameter, text: str | None) -> Pace | None:
    try:
        return None if text is None else Pace.parse(text)
    except SettingsError as error:
        raise click.BadParameter(error.problem) from error


def _rules(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[Any, ...]:
    try:
        return tuple(check_rule(text) for text in texts)
    except SettingsError as error:
        raise click.BadParameter(error.problem) from error


def _choice(enum: type[ChanceBy | RefuseAt | SmtpTls | Style]) -> click.Choice[str]:
    return click.Choice([item.value for item in enum])


_FILE = click.Path(dir_okay=False, path_type=Path)
_OPTIONS: tuple[_Decorator, ...] = (
    click.option("--ledger", type=_FILE, required=True, help="File for the ledger (NDJSON)."),
    click.option("--append", is_flag=True, help="Go on with an existing ledger and its keys."),
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option("--http-port", default=0, show_default="a free one"),
    click.option("--smtp-port", default=0, show_default="a free one"),
    click.option("--control-port", default=0, show_default="a free one"),
    click.option("--seed", default=0, show_default=True, help="Seed of the chances."),
    click.option(
        "--chance",
        "chances",
        multiple=True,
        callback=_chance,
        metavar="NAME=P",
        help=(
            "Probability of permanent (per recipient), transient, throttle, account, hang, slow, "
            "stall, drop, lost or garbage (per attempt). Can be given several times."
        ),
    ),
    click.option(
        "--chance-by",
        type=_choice(ChanceBy),
        default="key",
        show_default=True,
        help="What identifies a message for the chances; recipient if keys differ between runs.",
    ),
    click.option(
        "--override",
        "overrides",
        multiple=True,
        callback=_rules,
        metavar="GLOB=FATE",
        help="Fate of matching addresses, such as '+1500555*9=permanent'.",
    ),
    click.option("--hang-seconds", default=30.0, show_default=True),
    click.option("--latency", default=0.0, show_default=True, help="Seconds before each decision."),
    click.option("--jitter", default=0.0, show_default=True, help="Seconds added at most."),
    click.option("--pace", callback=_pace, metavar="N/SECONDS[/BURST]", help="Pace limit."),
    click.option("--retry-after", default=1.0, show_default=True, help="Seconds, by chance."),
    click.option("--account-after", type=int, help="Account-level error after N hand-offs."),
    click.option("--key-window", default=86_400.0, show_default=True, help="Seconds; 0: no keys."),
    click.option("--smtp-key-window", default=0.0, show_default=True, help="By Message-ID."),
    click.option(
        "--key-header",
        "key_headers",
        multiple=True,
        default=("Idempotency-Key",),
        show_default=True,
    ),
    click.option(
        "--to-field",
        "to_fields",
        multiple=True,
        default=("to",),
        show_default=True,
        help="Dotted path of the recipient in the body.",
    ),
    click.option("--style", type=_choice(Style), default="plain", show_default=True),
    click.option("--conflict-status", type=int, default=409, show_default=True, help="409 or 422."),
    click.option("--refuse-at", type=_choice(RefuseAt), default="data", show_default=True),
    click.option("--token", envvar="SENDONCE_SIMULATE_TOKEN", show_envvar=True, help="Bearer token."),
    click.option("--smtp-user", help="Ask for AUTH with this name."),
    click.option("--smtp-password", default="", envvar="SENDONCE_SIMULATE_SMTP_PASSWORD", show_envvar=True),
    click.option("--tls-certificate", type=_FILE, help="PEM file."),
    click.option("--tls-key", type=_FILE, help="PEM file."),
    click.option("--https", is_flag=True, help="TLS on the HTTP port."),
    click.option("--smtp-tls", type=_choice(SmtpTls), default="none", show_default=True),
    click.option("--max-bytes", default=10 * 1024 * 1024, show_default=True),
    click.option("--drain-seconds", default=5.0, show_default=True),
)
_ENUMS = {"style": Style, "chance_by": ChanceBy, "refuse_at": RefuseAt, "smtp_tls": SmtpTls}


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.command("simulate", epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@_with_options
def simulate_command(**options: object) -> None:
    """Run a far end that takes messages by HTTP and SMTP, and misbehaves on order.

    It delivers nothing: it keeps a ledger of every hand-off, which tells what each recipient would
    have received. One JSON line with the ports is printed once they are bound; SIGTERM or Ctrl-C
    finishes what is being decided and ends.
    """
    try:
        uvloop.run(_run(settings_of(options)))
    except (SettingsError, LedgerError) as error:
        raise click.UsageError(str(error)) from error


def settings_of(options: Mapping[str, Any]) -> SimulatorSettings:
    """Return the settings that the options give; raises ``SettingsError``."""
    live = set(Behaviour.__dataclass_fields__) & set(options)
    behaviour = Behaviour(**{name: options[name] for name in live})
    fixed = {name: value for name, value in options.items() if name not in live}
    enums = {name: enum(fixed[name]) for name, enum in _ENUMS.items()}
    return SimulatorSettings(behaviour=behaviour, **(fixed | enums))


async def _run(settings: SimulatorSettings) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    async with serve(settings) as simulator:
        ready = {
            "http": simulator.http_port,
            "smtp": simulator.smtp_port,
            "control": simulator.control_port,
            "ledger": str(simulator.ledger_path),
        }
        click.echo(json.dumps(ready))
        await stopped.wait()
