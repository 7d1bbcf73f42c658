"""Options that commands share: which cluster, where, in which form; and the campaign's name, completed by the shell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from sendonce_kubectl.failing import PluginError
from sendonce_kubectl.finding import Choice
from sendonce_kubectl.kubectl import Kubectl
from sendonce_kubectl.showing import FORMS

__all__ = ["People", "campaign_argument", "cluster_options", "console_options", "output_option", "plain_name"]

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class People:
    """How to ask the console."""

    choice: Choice
    token: str | None


def cluster_options(command: Command) -> Command:
    """Add --namespace, --context and --kubeconfig; the command gets them as one `kubectl`."""

    @wraps(command)
    def with_kubectl(namespace: str | None, context: str | None, kubeconfig: str | None, **rest: object) -> object:
        return command(kubectl=kubectl_of(namespace, context, kubeconfig), **rest)

    options = (
        click.option(
            "-n", "--namespace", metavar="NAME", help="Namespace of the campaign. Default: the context's.",
            shell_complete=complete_with("namespaces"),
        ),
        click.option(
            "--context", metavar="NAME", help="Context of the kubeconfig.", shell_complete=complete_with("contexts")
        ),
        click.option("--kubeconfig", metavar="FILE", type=click.Path(), help="As kubectl's own option."),
    )  # fmt: skip
    return _with(options, with_kubectl)  # type: ignore[no-any-return]  # click decorates in place


def kubectl_of(namespace: str | None, context: str | None, kubeconfig: str | None) -> Kubectl:
    """Kubectl with these options. Raises PluginError."""
    given = {"--context": context, "--kubeconfig": kubeconfig}
    return Kubectl.found([f"{name}={value}" for name, value in given.items() if value], namespace or "")


def console_options(command: Command) -> Command:
    """Add what says where the console is; the command gets it as one `people`."""

    @wraps(command)
    def with_people(
        console_url: str | None, console_namespace: str | None, token: str | None, **rest: object
    ) -> object:
        return command(people=People(Choice(console_url, console_namespace), token), **rest)

    options = (
        click.option(
            "--console-url", metavar="URL", envvar="SENDONCE_CONSOLE_URL", show_envvar=True,
            help="Address of the console. Default: its Service is looked for, and a port-forward leads there.",
        ),
        click.option(
            "--console-namespace", metavar="NAME", envvar="SENDONCE_CONSOLE_NAMESPACE", show_envvar=True,
            help="Where the console's Service is. Default: in all namespaces.",
        ),
        click.option(
            "--token", metavar="TOKEN", envvar="SENDONCE_CONSOLE_TOKEN", show_envvar=True,
            help="Bearer token for the console. Default: the kubeconfig's.",
        ),
    )  # fmt: skip
    return _with(options, with_people)  # type: ignore[no-any-return]


def output_option(*forms: str, default: str | None = None) -> Callable[[Command], Command]:
    """Add -o/--output with these forms."""
    return click.option(
        "-o", "--output", type=click.Choice(forms or FORMS), default=default, show_default=default is not None,
        help="Form of the output. Default: as people read it." if default is None else "Form of the output.",
    )  # fmt: skip


def campaign_argument(*, required: bool = True, several: bool = False) -> Callable[[Command], Command]:
    """Add CAMPAIGN."""
    return click.argument(
        "campaigns" if several else "campaign", metavar="CAMPAIGN..." if several else "CAMPAIGN", required=required,
        nargs=-1 if several else 1, shell_complete=complete_with("campaigns"),
    )  # fmt: skip


def plain_name(text: str) -> str:
    """`spring`, also of `nc/spring` or `notificationcampaign.sendonce.dev/spring`. Raises PluginError."""
    kind, slash, name = text.rpartition("/")
    if slash and kind.split(".")[0] not in {"nc", "notificationcampaign", "notificationcampaigns"}:
        raise PluginError(f"{text}: a campaign is meant, such as spring or nc/spring")
    if not name or any(letter in name for letter in "/%?# ") or name in {".", ".."}:
        raise PluginError(f"{text!r} is no name of a campaign")
    return name


def complete_with(what: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """What the shell asks for while a person types."""

    def complete(context: click.Context, _: click.Parameter, typed: str) -> list[CompletionItem]:
        from sendonce_kubectl.completing import known  # noqa: PLC0415 - it needs these options

        return [CompletionItem(name) for name in known(what, context.params) if name.startswith(typed)]

    return complete


def _with(options: tuple[Callable[[Any], Any], ...], command: Callable[..., Any]) -> Any:  # noqa: ANN401 - click decorates in place
    for option in reversed(options):
        command = option(command)
    return command
