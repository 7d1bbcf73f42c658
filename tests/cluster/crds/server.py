"""A real API server, asked whether it takes a document.

In: a kubeconfig; documents as plain data. Out: what was stored, or `Refused` with the server's own reasons.
"""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

from sendonce_store.spec.crd import RESOURCES

__all__ = ["NAMESPACE", "Refused", "Server"]

Object = dict[str, Any]
_KINDS = {resource.kind: resource for resource in RESOURCES}
_STRICT = {"fieldValidation": "Strict"}
_WRONG_CONTENT = frozenset({400, 422})
NAMESPACE = "sendonce-test-crds"
"""Where these tests make their objects."""


@dataclass
class Refused(Exception):  # noqa: N818 - it reads as what the server did
    """The answer of a server that does not take a document: status, whole message, (field, message) of each cause."""

    status: int
    message: str
    causes: list[tuple[str, str]]

    @property
    def is_for_content(self) -> bool:
        """Whether the document is wrong, and not something else in the way, such as an object of that name."""
        return self.status in _WRONG_CONTENT

    @classmethod
    def of(cls, answer: httpx.Response) -> Self:
        """Read a Status object. A cause at the root of the object has the field `<nil>`; here it is empty."""
        body: Object = answer.json()
        causes = (body.get("details") or {}).get("causes") or []
        fields = [(cause.get("field", "").replace("<nil>", ""), cause.get("message", "")) for cause in causes]
        return cls(answer.status_code, body.get("message", ""), fields)


class Server:
    """One API server. Every write is strict: it refuses unknown fields, as kubectl asks for by default."""

    def __init__(self, kubeconfig: Path) -> None:
        """Take server, trust and credentials of the only context."""
        config = yaml.safe_load(kubeconfig.read_text("utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        headers = {"Authorization": f"Bearer {user['token']}"} if "token" in user else {}
        self._client = httpx.Client(base_url=cluster["server"], verify=_trust(cluster, user), headers=headers)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def create(self, document: Object, *, dry_run: bool = False) -> Object:
        """Return the object as it was stored, or with `dry_run` as it would be. Raises Refused."""
        params = _STRICT | ({"dryRun": "All"} if dry_run else {})
        return self._ask("POST", self._collection(document), document, params)

    def refusal(self, document: Object) -> Refused | None:
        """Return why the server does not take a document, or None. Raises Refused for what is no fault of it."""
        try:
            self.create(document, dry_run=True)
        except Refused as refused:
            if refused.is_for_content:
                return refused
            raise
        return None

    def replace(self, stored: Object, document: Object, *, part: str = "") -> Object:
        """Return the object with its spec, or with `part="status"` its status, as in the document. Raises Refused."""
        version = {"resourceVersion": stored["metadata"]["resourceVersion"]}
        wished = document | {"metadata": stored["metadata"] | version}
        return self._ask("PUT", f"{self._path(stored)}/{part}".rstrip("/"), wished, _STRICT)

    def delete(self, stored: Object) -> None:
        """Remove the object."""
        self._ask("DELETE", self._path(stored), None, {})

    def get(self, path: str) -> Object:
        """Return what is at a path. Raises Refused."""
        return self._ask("GET", path, None, {})

    def apply(self, document: Object, collection: str) -> None:
        """Make an object as it is in the document, whether it was there or not. Raises Refused."""
        path = f"{collection}/{document['metadata']['name']}"
        params = {"fieldManager": "tests", "force": "true"}
        self._ask("PATCH", path, document, params, "application/apply-patch+yaml")

    def _collection(self, document: Object) -> str:
        resource = _KINDS[document["kind"]]
        namespace = document["metadata"].get("namespace", NAMESPACE)
        inside = f"namespaces/{namespace}/" if resource.namespaced else ""
        return f"/apis/{document['apiVersion']}/{inside}{resource.plural}"

    def _path(self, stored: Object) -> str:
        return f"{self._collection(stored)}/{stored['metadata']['name']}"

    def _ask(
        self, method: str, path: str, body: Object | None, params: dict[str, str], kind: str = "application/json"
    ) -> Object:
        content = None if body is None else json.dumps(body)
        answer = self._client.request(method, path, params=params, content=content, headers={"Content-Type": kind})
        if answer.is_error:
            raise Refused.of(answer)
        return dict(answer.json())


def _trust(cluster: Object, user: Object) -> ssl.SSLContext:
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    if "client-certificate-data" in user:
        with tempfile.TemporaryDirectory() as folder:
            context.load_cert_chain(*(_file(Path(folder), user, part) for part in ("certificate", "key")))
    return context


def _file(folder: Path, user: Object, part: str) -> str:
    """Write what `load_cert_chain` takes from a file only."""
    file = folder / part
    file.touch(mode=0o600)
    file.write_bytes(base64.b64decode(user[f"client-{part}-data"]))
    return str(file)
