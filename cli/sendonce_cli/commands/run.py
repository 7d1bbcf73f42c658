"""`sendonce run`: documents in, a campaign sent by local worker processes.

read → check files, templates, providers → look into the store → check names and the source     nothing written yet
→ open the store → providers and campaign in one transaction → actions → workers → summary
"""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import click
from rich.text import Text

from sendonce_cli.bundle import Bundle, read_bundle
from sendonce_cli.checking import Checked, check_campaign
from sendonce_cli.exits import CliError, Exit
from sendonce_cli.materials import Materials, materialised
from sendonce_cli.options import StoreChoice, gateway_option, output_option, store_options
from sendonce_cli.output import emit
from sendonce_cli.running.adopting import Begun, apply_actions, begin
from sendonce_cli.running.crew import Crew, Launch
from sendonce_cli.running.progress import make_progress
from sendonce_cli.running.summary import exit_code, summarise
from sendonce_cli.running.supervise import Run, Stop, supervise
from sendonce_cli.shapes import campaign_data
from sendonce_cli.stores import Store, open_store
from sendonce_cli.world import check_world, what_is_known
from sendonce_store.campaigns import Adopted

__all__ = ["RunOptions", "run_command"]

_EPILOG = """\b
Files hold NotificationCampaign, NotificationProvider, ConfigMap, Secret and NotificationAction documents, as kubectl
takes them. ConfigMaps and Secrets that are in none of them are read from DIR/configmaps/NAME/KEY and
DIR/secrets/NAME/KEY.

\b
The same command again goes on where the last run stopped; once the campaign is finished it sends nothing.

\b
Examples:
  sendonce run campaign.yaml
  sendonce run campaign.yaml --provider smtp.yaml --workers 5
  sendonce run campaign.yaml --database postgresql://sendonce@db/sendonce -o json
  sendonce run retry.yaml                        only actions: applied, nothing is sent

\b
Exit codes: 0 all sent, 1 some were not, 2 wrong input, 3 database failed, 5 the send key has other content,
6 waits for a person, 130 interrupted.
"""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the command line says."""

    store: StoreChoice
    files: tuple[str, ...]
    providers: tuple[str, ...] = ()
    folder: Path | None = None
    campaign: str | None = None
    workers: int = 3
    concurrency: int | None = None
    heartbeat: float | None = None
    grace: float | None = None
    wait: bool = False
    resume: bool = False
    migrate: bool = True
    verbose: bool = False
    quiet: bool = False
    every: float = 5.0
    log_format: str = "plain"
    log_level: str = "INFO"
    output: str = "table"
    gateway: str | None = None


@dataclass(frozen=True, slots=True)
class _Job:
    """A campaign that has been found in order."""

    options: RunOptions
    checked: Checked
    materials: Materials

    @property
    def log(self) -> Path | None:
        """The file for what workers print; None: our own standard error."""
        if self.options.verbose:
            return None
        return self.options.store.log_folder / f"{self.checked.namespace}-{self.checked.source.campaign.send_key}.log"

    def launch(self, dsn: str) -> Launch:
        """How its workers are to run."""
        options, workers = self.options, self.checked.spec.workers
        grace = workers.termination_grace_period_seconds if options.grace is None else options.grace
        return Launch(
            dsn=dsn,
            namespace=self.checked.namespace,
            send_key=self.checked.source.campaign.send_key,
            files=self.materials.root,
            log=self.log,
            log_format=options.log_format,
            log_level=options.log_level,
            grace_seconds=float(grace),
            heartbeat_seconds=options.heartbeat,
            concurrency=options.concurrency,
            gateway_url=options.gateway,
        )


@click.command("run", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--provider", "providers", multiple=True, metavar="FILE", help="Further file with providers and Secrets.")
@click.option(
    "--files", "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Folder with configmaps/ and secrets/. Default: that of the first FILE.",
)  # fmt: skip
@click.option("--campaign", metavar="NAME", help="Which campaign, if the files hold several.")
@click.option("--workers", type=click.IntRange(1, 64), default=3, show_default=True, help="Worker processes.")
@click.option(
    "--concurrency", type=click.IntRange(1, 10_000), help="Hand-offs per worker. Default: as the campaign says."
)
@click.option(
    "--heartbeat", type=click.FloatRange(0.05, 60), metavar="SECONDS", help="Between two heartbeats of a worker."
)
@click.option(
    "--grace", type=click.FloatRange(0, 3600), metavar="SECONDS", help="For a worker to finish what is in flight."
)
@click.option("--wait", is_flag=True, help="Go on waiting where a person is needed (promotion, resume).")
@click.option("--resume", is_flag=True, help="First resume a campaign that was stopped.")
@click.option(
    "--migrate/--no-migrate", default=True, show_default=True, help="Bring the schema of --database up to date."
)
@click.option("-v", "--verbose", is_flag=True, help="Show what workers log, instead of writing it to a file.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option(
    "--every", type=click.FloatRange(0.1, 3600), default=5.0, show_default=True, help="Seconds between lines in a pipe."
)
@click.option("--log-format", type=click.Choice(["plain", "json"]), default="plain", show_default=True)
@click.option(
    "--log-level", type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"]), default="INFO", show_default=True
)
@gateway_option
@store_options
@output_option
def run_command(**options: object) -> int:
    """Send a campaign from this machine, with local worker processes.

    Everything that can be checked is checked first: with wrong input nothing is written and nothing is sent.
    """
    return asyncio.run(run(RunOptions(**options)))  # type: ignore[arg-type]  # click gives what the options declare


async def run(options: RunOptions) -> int:
    """Do it; returns the exit code."""
    bundle = read_bundle((*options.files, *options.providers), options.store.namespace)
    source = bundle.campaign(options.campaign)
    if source is None:
        return await _only_actions(options, bundle)
    with materialised(bundle, _folder(options), source.campaign.metadata.namespace) as materials:
        job = _Job(options, await check_campaign(bundle, source, materials, options.gateway), materials)
        async with Store(options.store) as store:
            known = await what_is_known(store, job.checked)
            if known.campaign is None or known.campaign.ended is None:
                await check_world(job.checked, known, materials)
            if options.store.database is None or options.migrate:
                await store.migrate()
            async with store.connection() as conn:
                begun = await begin(conn, bundle, job.checked, resume=options.resume)
            return _already_sent(options, begun) if begun.already_sent else await _send(job, store, begun)


def _folder(options: RunOptions) -> Path:
    first = options.files[0]
    return options.folder or (Path.cwd() if first == "-" else Path(first).absolute().parent)


async def _only_actions(options: RunOptions, bundle: Bundle) -> int:
    if not bundle.actions():
        names = ", ".join(options.files)
        raise CliError(f"{names}: there is no NotificationCampaign in there, and no NotificationAction")
    async with open_store(options.store) as conn:
        await apply_actions(conn, bundle)
    click.echo("run the campaign's own file again to send what was opened", err=True)
    return Exit.OK


def _already_sent(options: RunOptions, begun: Begun) -> int:
    message, code = begun.adoption.message, Exit.UNDELIVERED if begun.campaign.ended == "failed" else Exit.OK
    data = campaign_data(begun.campaign) | {"reason": "AlreadySent", "message": message, "exitCode": int(code)}
    emit(data, options.output, lambda: Text(message))
    return code


async def _send(job: _Job, store: Store, begun: Begun) -> int:
    options, began = job.options, time.monotonic()
    if job.log is not None:
        job.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    dsn = await store.dsn()
    crew, stop = Crew(job.launch(dsn)), Stop()
    _listen(stop)
    with make_progress(options.every, quiet=options.quiet) as progress:
        goes_on = " goes on" if begun.adoption.kind is Adopted.CONTINUED else ""
        log = f", log in {job.log}" if job.log else ""
        progress.say(f"{begun.campaign.send_key}{goes_on}: {options.workers} workers{log}")
        run_ = Run(dsn, job.checked.namespace, begun.campaign.id, options.workers, options.wait)
        ended, campaign = await supervise(run_, crew, progress, stop)
    async with store.connection() as conn:
        summary = await summarise(conn, campaign, ended, time.monotonic() - began)
    emit(summary.data(), options.output, summary.shown)
    return exit_code(ended, campaign)


def _listen(stop: Stop) -> None:
    """Ctrl-C and SIGTERM drain; once more stops at once."""

    def ask() -> None:
        stop.asked += 1

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ask)
