"""`sendonce preview`: a campaign's messages as recipients would get them. Writes nothing, sends nothing."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import click

from sendonce_cli.bundle import read_bundle
from sendonce_cli.checking import check_campaign
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.materials import materialised
from sendonce_cli.options import amount, gateway_option, output_option
from sendonce_cli.output import emit
from sendonce_cli.previewing import Choice, preview, preview_data, preview_shown
from sendonce_store.spec import SpecError
from sendonce_worker.importing import ImportSourceError

__all__ = ["preview_command"]

_EPILOG = """\b
Recipients are chosen by reference (column id), address or line (line:12), else at random.

\b
Examples:
  sendonce preview campaign.yaml
  sendonce preview campaign.yaml --recipient mia@example.com
  sendonce preview campaign.yaml --random 10 --seed 7 -o json

\b
Exit codes: 0 fine, 2 wrong input (also a message that can't be rendered for somebody shown), 4 no such recipient.
"""


@click.command("preview", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--provider", "providers", multiple=True, metavar="FILE", help="Further file with providers and Secrets.")
@click.option(
    "--files",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder with configmaps/ and secrets/. Default: that of the first FILE.",
)
@click.option("--campaign", metavar="NAME", help="Which campaign, if the files hold several.")
@click.option(
    "--recipient", "wanted", multiple=True, metavar="WHO", help="Reference, address or line:N; several times."
)
@click.option("--random", "count", type=click.IntRange(0, 100), default=3, show_default=True, help="Random recipients.")
@click.option("--seed", type=int, help="Makes the random choice repeatable.")
@click.option(
    "--segment-price",
    type=amount,
    metavar="PRICE",
    help="What one segment of a text message costs, such as 0.075: says what the campaign's messages cost.",
)
@gateway_option
@click.option("-n", "--namespace", default="default", envvar="SENDONCE_NAMESPACE", show_default=True)
@output_option
def preview_command(  # noqa: PLR0913 - one parameter per option
    *,
    files: tuple[str, ...],
    providers: tuple[str, ...],
    folder: Path | None,
    campaign: str | None,
    wanted: tuple[str, ...],
    count: int,
    seed: int | None,
    segment_price: Decimal | None,
    gateway: str | None,
    namespace: str,
    output: str,
) -> int:
    """Show the messages of a campaign as chosen or random recipients would get them; sends nothing."""
    choice = Choice(wanted, 0 if wanted else count, seed, segment_price)
    given = folder or (Path.cwd() if files[0] == "-" else Path(files[0]).absolute().parent)
    return asyncio.run(_preview((*files, *providers), given, campaign, namespace, choice, output, gateway))


async def _preview(  # noqa: PLR0913 - what the command line says
    files: tuple[str, ...],
    given: Path,
    name: str | None,
    namespace: str,
    choice: Choice,
    output: str,
    gateway: str | None,
) -> int:
    bundle = read_bundle(files, namespace)
    source = bundle.campaign(name)
    if source is None:
        raise CliError(f"{', '.join(files)}: there is no NotificationCampaign in there")
    with materialised(bundle, given, source.campaign.metadata.namespace) as materials:
        checked = await check_campaign(bundle, source, materials, gateway)
        try:
            found = await preview(checked, materials, choice)
        except ImportSourceError as error:
            raise SpecError([checked.problem(tuple(error.field.split(".")), error.problem)]) from error
    emit(preview_data(found), output, lambda: preview_shown(found))
    if found.missing:
        raise CliError([f"there is no recipient {who} in the source" for who in found.missing], Exit.NOT_FOUND)
    if found.errors:
        raise CliError([str(error) for error in found.errors])
    return Exit.OK
