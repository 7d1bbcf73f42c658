"""The token by which the console knows a person: the kubeconfig's user in, a bearer token out.

The console asks the API server who a token belongs to, so it is the same token that kubectl shows to the API server.
A client certificate can't be shown to the console: such a user needs a token from elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sendonce_kubectl.failing import Exit, PluginError
from sendonce_kubectl.kubectl import Kubectl, KubectlError

__all__ = ["Surroundings", "surroundings", "token_of"]

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
CURE = (
    "give --token or SENDONCE_CONSOLE_TOKEN, such as "
    "`kubectl create token ACCOUNT --namespace NAMESPACE --duration 1h` prints for a service account"
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where kubectl stands: the context's namespace, its user and its cluster, as the kubeconfig has them."""

    namespace: str
    user: Mapping[str, Any]
    cluster: Mapping[str, Any]


def surroundings(kubectl: Kubectl, account: Path = ACCOUNT) -> Surroundings:
    """Read the kubeconfig by way of kubectl, which merges its files; without one, the Pod's service account."""
    try:
        config = kubectl.json("config", "view", "--minify", "--raw", "--output=json")
    except KubectlError as error:
        if (account / "token").exists():
            namespace = (account / "namespace").read_text("utf-8").strip()
            return Surroundings(namespace, {"tokenFile": str(account / "token")}, {})
        raise PluginError(f"there is no usable kubeconfig: {error}") from None
    return Surroundings(
        _named(config, "contexts", "context").get("namespace") or "default",
        _named(config, "users", "user"),
        _named(config, "clusters", "cluster"),
    )


def _named(config: Mapping[str, Any], several: str, one: str) -> Mapping[str, Any]:
    """The one entry that `--minify` left."""
    found = config.get(several) or [{}]
    return found[0].get(one) or {}


def token_of(around: Surroundings, given: str | None) -> str:
    """The token that was given, or the kubeconfig's. Raises PluginError where there is none."""
    user = around.user
    if given:
        return given
    if user.get("tokenFile"):
        return _from_file(Path(user["tokenFile"]))
    if user.get("token"):
        return str(user["token"])
    if user.get("exec"):
        return _from_program(user["exec"], around.cluster)
    kept = (user.get("auth-provider") or {}).get("config", {}).get("id-token")
    if kept:
        return str(kept)
    how = "with a client certificate" if "client-certificate" in " ".join(user) else "in a way that has no token"
    raise PluginError(f"your kubeconfig signs you in {how}, and the console takes tokens only: {CURE}", Exit.NO_RIGHT)


def _from_file(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise PluginError(f"the kubeconfig's tokenFile {file}: {error.strerror}", Exit.NO_RIGHT) from None


def _from_program(given: Mapping[str, Any], cluster: Mapping[str, Any]) -> str:
    """Ask a credential plugin, as client-go does (client.authentication.k8s.io, ExecCredential)."""
    words = [given["command"], *(given.get("args") or ())]
    own = {one["name"]: one["value"] for one in given.get("env") or ()}
    told = json.dumps(_request(given, cluster))
    try:
        done = subprocess.run(
            words, env={**os.environ, **own, "KUBERNETES_EXEC_INFO": told}, stdout=subprocess.PIPE, check=False
        )
        status = json.loads(done.stdout)["status"]
    except OSError as error:
        raise PluginError(f"the kubeconfig's credential plugin {words[0]}: {error.strerror}", Exit.NO_RIGHT) from None
    except (ValueError, KeyError, TypeError):
        raise PluginError(f"the kubeconfig's credential plugin {words[0]} gave no credential", Exit.NO_RIGHT) from None
    if not status.get("token"):
        raise PluginError(
            f"the credential plugin {words[0]} gave no token, and the console needs one: {CURE}", Exit.NO_RIGHT
        )
    return str(status["token"])


def _request(given: Mapping[str, Any], cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: dict[str, Any] = {"interactive": sys.stdin.isatty() and given.get("interactiveMode") != "Never"}
    if given.get("provideClusterInfo"):
        spec["cluster"] = {name: value for name, value in cluster.items() if name in _CLUSTER_FIELDS}
    return {"apiVersion": given.get("apiVersion"), "kind": "ExecCredential", "spec": spec}


_CLUSTER_FIELDS: Sequence[str] = (
    "server",
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority-data",
    "proxy-url",
)
