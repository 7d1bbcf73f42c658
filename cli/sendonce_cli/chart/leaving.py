"""Before an uninstall: the cluster's campaigns in, a refusal or a cluster that can do without its operator out.

    look      campaigns that have begun and are not finished: refused, waited for, or left to their workers
    stop      the operator, because it would put its finalizer on again
    look      again: a campaign may have begun meanwhile, and then the operator goes on
    release   the finalizer of every campaign, so that `kubectl delete` needs no operator any more

Nothing is lost by it: the rows stay in the store, workers go on while there is something to send, and an operator that
comes back goes on with all of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum

from sendonce_cli.chart.api import NOT_FOUND, Api, ApiError, Object
from sendonce_cli.exits import CliError, Exit

FINALIZER = "operator.sendonce.dev/finalizer"
GROUP = "/apis/sendonce.dev/v1alpha1"
CAMPAIGNS = f"{GROUP}/notificationcampaigns"
LOOK_SECONDS = 1.0
STOP_SECONDS = 60.0
ANNOTATION = "sendonce.dev/uninstall"
"""On the operator's Deployment: another policy than the chart's, for the uninstall at hand."""
# named in a message at most
NAMED = 10


class Policy(StrEnum):
    """What becomes of campaigns that are not finished."""

    REFUSE = "Refuse"
    WAIT = "Wait"
    LEAVE = "Leave"


def is_unfinished(campaign: Object) -> bool:
    """Whether it has begun, and not every recipient has a final state; or is being deleted, which the operator ends."""
    status = campaign.get("status") or {}
    begun, ended = status.get("startTime"), status.get("completionTime")
    return bool(begun and not ended) or "deletionTimestamp" in campaign["metadata"]


def described(campaign: Object) -> str:
    """`shop/spring (1200 of 5000 sent)`."""
    metadata, counts = campaign["metadata"], (campaign.get("status") or {}).get("deliveries") or {}
    return f"{metadata['namespace']}/{metadata['name']} ({counts.get('sent', 0)} of {counts.get('total', 0)} sent)"


def counted(number: int, what: str) -> str:
    """`1 campaign`, `2 campaigns`."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def refusal(unfinished: Sequence[Object], policy: Policy, namespace: str, operator: str) -> CliError:
    """Why nothing is taken away, and the ways on."""
    some = ", ".join(map(described, unfinished[:NAMED]))
    more = f" and {len(unfinished) - NAMED} more" if len(unfinished) > NAMED else ""
    number = f"{counted(len(unfinished), 'campaign')} {'are' if len(unfinished) > 1 else 'is'} not finished"
    annotate = f"kubectl -n {namespace} annotate deployment {operator} {ANNOTATION}"
    ways = [
        f"uninstall.policy {policy}: {number}: {some}{more}. Nothing was taken away.",
        "to uninstall once they are: wait (kubectl get nc -A) or cancel them (spec.cancel: true), then uninstall again",
        f"to leave them to their workers, which go on without an operator: {annotate}=Leave, then uninstall again",
        "to keep the release: helm rollback to the newest revision of helm history, as till then it is uninstalling",
    ]
    return CliError(ways, Exit.WAITS)


class Leaving:
    """One uninstall. `operator`: the name of its Deployment, in the Pod's namespace."""

    def __init__(self, api: Api, operator: str, policy: Policy, timeout: float) -> None:
        """`timeout`: seconds that the policy Wait waits."""
        self._api, self._operator, self._policy, self._timeout = api, operator, policy, timeout
        self._namespace = api.namespace
        self._path = f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{operator}"

    def run(self) -> list[str]:
        """Make the cluster ready for the uninstall; returns what stays behind. Raises CliError."""
        deployment = self._api.find(self._path)
        policy = self._chosen(deployment)
        self._check(self._wait() if policy is Policy.WAIT else self._unfinished(), policy)
        if deployment is not None:
            self._stop_operator(deployment)
        try:
            self._check(self._unfinished(), policy)
        except CliError:
            self._scale(1)
            raise
        campaigns = self._api.items(CAMPAIGNS)
        for campaign in campaigns:
            self._release(campaign)
        return self._left(campaigns)

    def _chosen(self, deployment: Object | None) -> Policy:
        """The policy that the Deployment is annotated with, else the chart's. Raises CliError."""
        annotations = (deployment or {}).get("metadata", {}).get("annotations") or {}
        try:
            return Policy(annotations.get(ANNOTATION, self._policy))
        except ValueError:
            known = ", ".join(Policy)
            raise CliError(f"{ANNOTATION}: {annotations[ANNOTATION]} is no policy: use one of {known}") from None

    def _unfinished(self) -> list[Object]:
        return [one for one in self._api.items(CAMPAIGNS) if is_unfinished(one)]

    def _check(self, unfinished: Sequence[Object], policy: Policy) -> None:
        if unfinished and policy is not Policy.LEAVE:
            raise refusal(unfinished, policy, self._namespace, self._operator)

    def _wait(self) -> list[Object]:
        end = time.monotonic() + self._timeout
        while (found := self._unfinished()) and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        return found

    def _scale(self, replicas: int) -> None:
        try:
            self._api.merge(self._path, {"spec": {"replicas": replicas}})
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise

    def _stop_operator(self, deployment: Object) -> None:
        """Wait for the end of its Pods: one that still runs puts its finalizer on again."""
        self._scale(0)
        wanted = deployment["spec"]["selector"]["matchLabels"]
        query = {"labelSelector": ",".join(f"{name}={value}" for name, value in wanted.items())}
        end = time.monotonic() + STOP_SECONDS
        while self._api.get(f"/api/v1/namespaces/{self._namespace}/pods", query)["items"]:
            if time.monotonic() > end:
                self._scale(1)
                raise CliError(f"the operator did not end within {STOP_SECONDS:.0f} s; it goes on. Try again")
            time.sleep(LOOK_SECONDS / 2)

    def _release(self, campaign: Object) -> None:
        metadata = campaign["metadata"]
        if FINALIZER not in metadata.get("finalizers", []):
            return
        rest = [name for name in metadata["finalizers"] if name != FINALIZER]
        path = f"{GROUP}/namespaces/{metadata['namespace']}/notificationcampaigns/{metadata['name']}"
        try:
            self._api.merge(path, {"metadata": {"finalizers": rest, "uid": metadata["uid"]}})
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise

    def _left(self, campaigns: Sequence[Object]) -> list[str]:
        providers = [
            one
            for kind in ("notificationproviders", "clusternotificationproviders")
            for one in self._api.items(f"{GROUP}/{kind}")
        ]
        unfinished = sum(map(is_unfinished, campaigns))
        going = f" ({unfinished} not finished: workers go on)" if unfinished else ""
        return [
            "What stays behind:",
            f"  the CRDs, {counted(len(campaigns), 'campaign')}{going} and {counted(len(providers), 'provider')}",
            "  the database, with who got what, and namespaces' logins in it",
            "  Secrets with logins of the database, and the release's namespace",
            "An install with the same database goes on where this one ends.",
        ]
