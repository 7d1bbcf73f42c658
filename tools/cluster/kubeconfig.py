"""Kubeconfigs: one for people and tests, one for each program.

In: certificates and an address. Out: files with everything in them, in JSON, which is YAML too.
"""

import base64
import json
from pathlib import Path

from tools.cluster.pki import USERS
from tools.cluster.places import Places

CONTEXT = "sendonce-local"


def _encoded(path: str | Path) -> str:
    return base64.b64encode(Path(path).read_bytes()).decode()


def document(places: Places, user: str, server: str) -> dict[str, object]:
    """Return the kubeconfig of one user, whose only context is `sendonce-local`."""
    certificate, key = places.certificate(user)
    cluster = {"server": server, "certificate-authority-data": _encoded(places.authority)}
    credentials = {"client-certificate-data": _encoded(certificate), "client-key-data": _encoded(key)}
    context = {"cluster": CONTEXT, "user": user, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": CONTEXT, "context": context}],
        "current-context": CONTEXT,
    }


def path_for_people(state: Path) -> Path:
    """Return the file that a person gives to kubectl."""
    return state / "kubeconfig"


def write(places: Places, server: str) -> None:
    """Write the kubeconfigs of all users, and the administrator's for people."""
    places.kubeconfig("admin").parent.mkdir(mode=0o700)
    for user in USERS:
        _save(places.kubeconfig(user), document(places, user, server))
    _save(path_for_people(places.state), document(places, "admin", server))


def _save(path: Path, content: dict[str, object]) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
