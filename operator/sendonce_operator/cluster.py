"""The operator's few calls to the API server: paths and plain JSON in, plain JSON out, errors as exceptions of ours.

One try each, with a time-out: whoever calls comes back anyway. Watching is kopf's.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import kubernetes.aio.client
import kubernetes.aio.config

Object = dict[str, Any]
REQUEST_SECONDS = 30
# asyncio keeps 256 KiB for each connection with TLS; the API server is the one to wait for, not these
CONNECTIONS = 16
NOT_FOUND, CONFLICT, GONE = 404, 409, 410
_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"
FIELD_MANAGER = "sendonce-operator"


class ClusterError(Exception):
    """The API server refused, or was not there. `status`: HTTP's, 0 without an answer; `reason`: Kubernetes' word."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep what the API server said."""
        super().__init__(message)
        self.status = status
        self.reason = reason

    @property
    def passes(self) -> bool:
        """Whether the same call may do better later, with nobody doing anything."""
        return self.status in {0, 408, 409, 410, 429} or self.status >= 500  # noqa: PLR2004 - HTTP's server errors


class NotFoundError(ClusterError):
    """There is no such object."""


class ConflictError(ClusterError):
    """The object is not as the caller thought: it has changed, or exists already."""


class Cluster:
    """Calls to one API server."""

    def __init__(self, client: kubernetes.aio.client.ApiClient) -> None:
        """The client is closed by whoever made it."""
        self._client = client
        self._slots = asyncio.Semaphore(CONNECTIONS)

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Object:
        """Read an object or a list. Raises ClusterError."""
        return await self._call("GET", path, query=query)

    async def find(self, path: str) -> Object | None:
        """Read an object; None where there is none. Raises ClusterError."""
        try:
            return await self.get(path)
        except NotFoundError:
            return None

    async def create(self, path: str, body: Object) -> Object:
        """Create an object in a collection. Raises ConflictError where it exists, ClusterError."""
        return await self._call("POST", path, body, query={"fieldManager": FIELD_MANAGER})

    async def patch(self, path: str, body: Object) -> Object:
        """Merge-patch an object; a resourceVersion in it is a precondition. Raises ConflictError, ClusterError."""
        return await self._call("PATCH", path, body, content=_MERGE_PATCH, query={"fieldManager": FIELD_MANAGER})

    async def apply(self, path: str, body: Object, *, force: bool = True) -> Object:
        """Server-side apply: the fields in `body` are ours, others are left alone. Raises ClusterError.

        Without `force`, a field that somebody else has set raises ConflictError.
        """
        query = {"fieldManager": FIELD_MANAGER, "force": str(force).lower()}
        return await self._call("PATCH", path, body, content=_APPLY_PATCH, query=query)

    async def delete(self, path: str, uid: str) -> None:
        """Delete the object of this uid, and no other of that name; none is fine. Raises ClusterError."""
        body = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
        body["propagationPolicy"] = "Background"
        try:
            await self._call("DELETE", path, body)
        except (NotFoundError, ConflictError):
            return

    async def _call(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        content: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Object:
        try:
            async with self._slots:
                status, text = await self._exchange(method, path, body, content, query)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            message = f"the API server can't be reached: {str(error) or type(error).__name__}"
            raise ClusterError(0, "Unreachable", message) from error
        answer = _decode(text)
        if status < 400:  # noqa: PLR2004 - HTTP's first error
            return answer
        raise _error(status, answer)

    async def _exchange(
        self, method: str, path: str, body: Object | None, content: str, query: Mapping[str, str] | None
    ) -> tuple[int, str]:
        client: Any = self._client
        prepared = await client.param_serialize(
            method=method,
            resource_path=path,
            query_params=list((query or {}).items()),
            header_params={"Accept": "application/json", "Content-Type": content},
            body=body,
            auth_settings=["BearerToken"],
        )
        response = await client.call_api(*prepared, _request_timeout=REQUEST_SECONDS)
        return response.status, (await response.read() or b"").decode()


def _decode(text: str) -> Object:
    try:
        answer = json.loads(text)
    except ValueError:
        return {"message": text[:200]}
    return answer if isinstance(answer, dict) else {"message": text[:200]}


def _error(status: int, answer: Object) -> ClusterError:
    reason, message = str(answer.get("reason", "")), str(answer.get("message", f"HTTP {status}"))
    kind = {NOT_FOUND: NotFoundError, CONFLICT: ConflictError}.get(status, ClusterError)
    return kind(status, reason, message)


@asynccontextmanager
async def open_cluster(kubeconfig: Path | None) -> AsyncIterator[Cluster]:
    """Yield calls to the cluster of a kubeconfig, or of the Pod's service account."""
    configuration = type.__call__(kubernetes.aio.client.Configuration)
    configuration.connection_pool_maxsize = CONNECTIONS
    # aiohttp would look for a proxy and a netrc at each call, in a thread each; kopf's watches don't look either
    configuration.client_session_kwargs = {"trust_env": False}
    if kubeconfig is None:
        kubernetes.aio.config.load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    else:
        await kubernetes.aio.config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=str(kubeconfig), client_configuration=configuration, persist_config=False
        )
    client: Any = kubernetes.aio.client.ApiClient(configuration=configuration)
    try:
        yield Cluster(client)
    finally:
        await client.close()
