"""A person with `kubectl campaign`: a kubeconfig in, what the plugin printed and its exit code out.

The plugin runs in this process, as its own `main` runs it; kubectl is the real one.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner
from tests.cluster.reach import Cluster, kubectl_program

from sendonce_kubectl.main import cli, explained

NAMESPACE = "shop"
GROUP = "sendonce.dev"
CAMPAIGNS, ORDERS = "notificationcampaigns", "notificationactions"
# what plain Roles give: a name → (resource, verbs)
ROLES: Mapping[str, list[tuple[str, list[str]]]] = {
    "nobody": [],
    "viewer": [(CAMPAIGNS, ["get", "list", "watch"])],
    "support": [(CAMPAIGNS, ["get", "list", "watch"]), (ORDERS, ["create", "get", "watch"])],
    "blind": [(CAMPAIGNS, ["get"]), (ORDERS, ["create"])],
    "editor": [(CAMPAIGNS, ["get", "list", "watch", "patch"]), (ORDERS, ["create", "get", "list", "watch"])],
}


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Person:
    """Whoever the kubeconfig signs in. `environment` is set for each command."""

    kubeconfig: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *arguments: str, stdin: str | None = None) -> Ran:
        given = [*arguments, f"--kubeconfig={self.kubeconfig}"]
        variables = {"KUBECTL": kubectl_program(), **self.environment}
        result = CliRunner().invoke(cli, given, input=stdin, env=variables, standalone_mode=False)
        if result.exception is None:
            return Ran(result.return_value or 0, result.stdout, result.stderr)
        assert isinstance(result.exception, Exception)
        code, problems = explained(result.exception)
        return Ran(code, result.stdout, result.stderr + "".join(f"error: {one}\n" for one in problems))

    async def later(self, *arguments: str) -> Ran:
        """As `run`, beside what else goes on."""
        return await asyncio.to_thread(self.run, *arguments)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """As a program of its own, whose output is read while it runs."""
        command = [sys.executable, "-m", "sendonce_kubectl", *arguments, f"--kubeconfig={self.kubeconfig}"]
        variables = {"KUBECTL": kubectl_program(), "PYTHONUNBUFFERED": "1", **self.environment}
        return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def write_kubeconfig(
    file: Path, user: Mapping[str, Any], cluster: Mapping[str, Any], namespace: str = NAMESPACE
) -> Path:
    """A kubeconfig with one context."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": namespace}}],
        "clusters": [{"name": "c", "cluster": dict(cluster)}],
        "users": [{"name": "u", "user": dict(user)}],
    }
    file.write_text(yaml.safe_dump(config), "utf-8")
    return file


def person_of(cluster: Cluster, role: str, namespace: str, folder: Path) -> Person:
    """A service account of the namespace, with what a plain Role gives it."""
    rules = [{"apiGroups": [GROUP], "resources": [what], "verbs": verbs} for what, verbs in ROLES[role]]
    meta = {"name": role, "namespace": namespace}
    rbac = "rbac.authorization.k8s.io"
    objects = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": meta,
         "roleRef": {"apiGroup": rbac, "kind": "Role", "name": role},
         "subjects": [{"kind": "ServiceAccount", **meta}]},
    ]  # fmt: skip
    cluster.kubectl("apply", "-f-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    token = cluster.kubectl("-n", namespace, "create", "token", role).strip()
    known = yaml.safe_load(cluster.kubeconfig.read_text("utf-8"))["clusters"][0]["cluster"]
    return Person(write_kubeconfig(folder / f"{role}.kubeconfig", {"token": token}, known, namespace))
