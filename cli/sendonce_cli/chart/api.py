"""The API server as a Pod reaches it: paths and plain objects in, plain objects or an error in its own words out.

In: the Pod's service account, in the folder where Kubernetes mounts it. The token is read for each call, as it is
renewed while a Pod runs.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from sendonce_cli.exits import CliError

Object = dict[str, Any]
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
NOT_FOUND = 404
SECONDS = 30.0


class ApiError(CliError):
    """A call was refused; the message is the API server's."""

    def __init__(self, method: str, path: str, status: int, message: str) -> None:
        """`status` is that of HTTP."""
        super().__init__(f"{method} {path}: {status} {message}")
        self.status = status


class Api:
    """Calls to one API server."""

    def __init__(self, url: str, account: Path, *, verify: ssl.SSLContext | bool = True) -> None:
        """`account`: the folder with token and namespace."""
        self._account = account
        self._client = httpx.Client(base_url=url, verify=verify, timeout=SECONDS, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    @property
    def namespace(self) -> str:
        """The namespace of the Pod."""
        return (self._account / "namespace").read_text("utf-8").strip()

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Object:
        """Raises ApiError."""
        return self._call("GET", path, query=query)

    def find(self, path: str) -> Object | None:
        """The object, or None where there is none (nor its kind). Raises ApiError."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def items(self, path: str) -> list[Object]:
        """All objects of a kind, page by page; none where there is no such kind. Raises ApiError."""
        found: list[Object] = []
        query = {"limit": "500"}
        while True:
            try:
                page = self.get(path, query)
            except ApiError as error:
                if error.status == NOT_FOUND:
                    return found
                raise
            found += page.get("items", [])
            token = page["metadata"].get("continue")
            if not token:
                return found
            query = {"limit": "500", "continue": token}

    def create(self, path: str, body: Object) -> Object:
        """Raises ApiError."""
        return self._call("POST", path, body)

    def merge(self, path: str, body: Object) -> Object:
        """Patch an object (RFC 7386). Raises ApiError."""
        return self._call("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Delete an object, which may be gone already. Raises ApiError."""
        try:
            self._call("DELETE", path)
        except ApiError as error:
            if error.status != NOT_FOUND:
                raise

    def _call(
        self, method: str, path: str, body: Object | None = None, query: Mapping[str, str] | None = None
    ) -> Object:
        headers = {"Authorization": f"Bearer {(self._account / 'token').read_text('utf-8').strip()}"}
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        try:
            response = self._client.request(method, path, json=body, params=dict(query or {}), headers=headers)
        except httpx.HTTPError as error:
            raise CliError(f"the API server can't be reached: {error}") from error
        if response.is_success:
            found: Object = response.json()
            return found
        raise ApiError(method, path, response.status_code, _message(response))


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200]


def in_cluster(account: Path = ACCOUNT, env: Mapping[str, str] = os.environ) -> Api:
    """The API server of the cluster that this Pod runs in. Raises CliError elsewhere."""
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (account / "token").exists():
        raise CliError("this runs in a Pod of the Helm chart, with a service account: see docs/install.md")
    host = f"[{host}]" if ":" in host else host
    return Api(f"https://{host}:{port}", account, verify=ssl.create_default_context(cafile=str(account / "ca.crt")))
