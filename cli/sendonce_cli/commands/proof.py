"""`sendonce proof`: the report of a finished campaign, to keep, to print and to check."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from sendonce_cli.exits import CliError, Exit
from sendonce_cli.options import StoreChoice, complete, store_options
from sendonce_cli.output import console, moment, table
from sendonce_cli.signing import sign, verify
from sendonce_cli.stores import open_campaign
from sendonce_store import proof
from sendonce_store.proof import Proof, TamperedError
from sendonce_worker.redaction import Redactor

__all__ = ["proof_command"]

_EPILOG = """\b
In it: totals that add up, reasons, first and last hand-off, duplicates and how they were counted,
the digest of each text, who ordered what, and what can't be known. The campaign must have ended.

\b
Examples:
  sendonce proof spring
  sendonce proof spring -o html > spring.html
  sendonce proof spring -o json --key signing.pem --signature spring.json.sig > spring.json
  sendonce proof --verify spring.json --signature spring.json.sig --public-key signing.pub

\b
Exit codes: 0 it holds, 1 it does not, 2 wrong input, not ended, or not as it was made, 4 no such
campaign.
"""
_FORMS: dict[str, Callable[[Proof], bytes]] = {"json": proof.to_json, "csv": proof.to_csv, "html": proof.to_html}
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("proof", epilog=_EPILOG)
@click.argument("campaign", required=False, shell_complete=complete)
@click.option("--key", type=_FILE, metavar="PEM", help="Sign with this private Ed25519 key; with --signature.")
@click.option(
    "--signature", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="With --key: where the signature goes. With --verify: where it is.",
)  # fmt: skip
@click.option("--verify", "verified", type=_FILE, metavar="FILE", help="Check a proof in the place of making one.")
@click.option("--public-key", type=_FILE, metavar="PEM", help="With --verify: who must have signed.")
@click.option(
    "-o", "--output", type=click.Choice(["table", *_FORMS]), default="table", show_default=True,
    help="Form of the output.",
)  # fmt: skip
@store_options
def proof_command(  # noqa: PLR0913 - one parameter per option
    *,
    campaign: str | None,
    key: Path | None,
    signature: Path | None,
    verified: Path | None,
    public_key: Path | None,
    output: str,
    store: StoreChoice,
) -> int:
    """Prove how a finished campaign ended, as CSV, JSON or a page to print; or check such a proof."""
    if verified is not None:
        return _verify(verified, signature, public_key)
    if campaign is None:
        raise CliError("CAMPAIGN is missing: name a finished campaign, or a file with --verify")
    if (key is None) != (signature is None):
        raise CliError("--key and --signature belong together: the key that signs, and the file for the signature")
    if key is not None and output not in _FORMS:
        raise CliError(f"--key: what is signed is a file: add --output {'|'.join(_FORMS)}")
    return asyncio.run(_prove(store, campaign, output, (key, signature)))


async def _prove(store: StoreChoice, name: str, output: str, signing: tuple[Path | None, Path | None]) -> int:
    async with open_campaign(store, name) as (conn, campaign):
        facts = await proof.read(conn, campaign.id)
    if facts is None:
        raise CliError(f"campaign {name} is gone", Exit.NOT_FOUND)
    found = proof.build(facts, f"sendonce {version('sendonce')}", Redactor().redact)
    if output in _FORMS:
        content = _FORMS[output](found)
        key, signature = signing
        if key is not None and signature is not None:
            signature.write_bytes(sign(content, key.read_bytes()))
        click.echo(content, nl=False)
    else:
        console().print(shown(found))
    return Exit.OK if found.holds else Exit.UNDELIVERED


def shown(found: Proof) -> RenderableType:
    """The gist of it, for people."""
    rows = [
        (one.channel, one.total, *one.states.values(), one.first_hand_off, one.last_hand_off)
        for one in (*found.channels, found.deliveries)
    ]
    titles = ["CHANNEL", "#TOTAL", *(f"#{name.upper()}" for name in found.deliveries.states), "FIRST", "LAST"]
    return Group(*map(Text, _sentences(found)), Text(""), table(titles, rows), *map(Text, found.unknown))


def _sentences(found: Proof) -> Iterator[str]:
    c, p, d = found.campaign, found.people, found.duplicates
    holds = (
        "holds: every sum adds up, and nobody is known to have been sent to twice" if found.holds else "DOES NOT HOLD"
    )
    yield f"the proof of {c.send_key} {holds}"
    yield f"ended {moment(c.completion_time)}: {c.reason}" + (f": {c.message}" if c.message else "")
    yield f"people: {p.total:,} of {p.rows_read:,} rows; {p.duplicates:,} duplicates, {p.rejected:,} refused"
    yield f"accepted more than once: {'not known any more' if d.count is None else d.count}; uncertain: {d.uncertain:,}"
    yield from (f"WRONG: {one.what}: {one.found:,}, not {one.expected:,}" for one in found.sums if not one.holds)


def _verify(file: Path, signature: Path | None, public_key: Path | None) -> int:
    if (signature is None) != (public_key is None):
        raise CliError("--signature and --public-key belong together: the signature, and who must have made it")
    content = file.read_bytes()
    if signature is not None and public_key is not None:
        if not signature.exists():
            raise CliError(f"--signature: there is no file {signature}")
        verify(content, signature.read_bytes(), public_key.read_bytes())
        click.echo(f"{file}: the signature fits: it is as it was signed with this key")
    if signature is None or file.suffix == ".json":
        click.echo(_digest_fits(file, content, signed=signature is not None))
    return Exit.OK


def _digest_fits(file: Path, content: bytes, *, signed: bool) -> str:
    try:
        found = proof.checked(content)
    except TamperedError as error:
        raise CliError(f"{file}: {error}") from None
    doubt = "" if signed else "; who made it is not known without a signature (--signature, --public-key)"
    return f"{file}: the digest fits, {found['digest']}{doubt}"
