"""A namespace's login of the store, made with its first campaign: a namespace in, the Secret of its workers out.

Only where SENDONCE_STORE_ADDRESS is set, and where the operator may write that Secret. It is never read: whether a
namespace has a login, the store says, and whether a Secret is somebody else's, the API server does (a server-side
apply that is not forced). The login is committed after the Secret was written, so that no login is without one.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time

import psycopg

from sendonce_operator import paths
from sendonce_operator.cluster import Cluster, ClusterError, ConflictError, Object
from sendonce_operator.ledger import STORE_ERRORS
from sendonce_store import tenancy
from sendonce_store.connection import Connection
from sendonce_store.tenancy import Login, TenancyError

logger = logging.getLogger(__name__)
# what could not be done is tried again with a campaign that begins after so many seconds
AGAIN_SECONDS = 60.0


class Tenants:
    """Lets namespaces in. `address`: the database as Pods reach it; None: everything is left to people."""

    def __init__(self, cluster: Cluster, address: str | None, name: str, key: str) -> None:
        """`name` and `key` of the Secret that workers mount."""
        self._cluster = cluster
        self._address = address
        self._name, self._key = name, key
        self._lock = asyncio.Lock()
        self._let_in: set[str] = set()
        self._refused: dict[str, float] = {}  # namespace → when it could not be let in, on the monotonic clock

    async def let_in(self, conn: Connection, namespace: str) -> None:
        """See that the namespace has a login. Raises STORE_ERRORS; what is refused is logged, and left to a person."""
        if self._address is None or namespace in self._let_in:
            return
        async with self._lock:
            if namespace in self._let_in or self._was_refused(namespace):
                return
            if await self._is_let_in(conn, namespace, self._address):
                self._let_in.add(namespace)
            else:
                self._refused[namespace] = time.monotonic()

    def _was_refused(self, namespace: str) -> bool:
        return time.monotonic() - self._refused.get(namespace, float("-inf")) < AGAIN_SECONDS

    async def _is_let_in(self, conn: Connection, namespace: str, address: str) -> bool:
        if any(tenant.namespace == namespace and tenant.logins for tenant in await tenancy.tenants(conn)):
            return True
        try:
            await self._make(conn, namespace, address)
        except ConflictError:
            logger.info("namespace %s: Secret %s is somebody else's, and is left alone", namespace, self._name)
            return True
        except STORE_ERRORS:
            raise
        except (ClusterError, TenancyError, psycopg.Error) as error:
            logger.warning("namespace %s gets no login of the store: %s", namespace, error)
            return False
        logger.info("namespace %s has a login of the store, in Secret %s", namespace, self._name)
        return True

    async def _make(self, conn: Connection, namespace: str, address: str) -> None:
        async with conn.transaction():
            login = await tenancy.add(conn, namespace)
            path = paths.secret(namespace, self._name)
            await self._cluster.apply(path, self._secret(login, address), force=False)

    def _secret(self, login: Login, address: str) -> Object:
        """The Secret that `sendonce tenant add` prints. Who owns a key is only told of `data`, not of `stringData`."""
        secret = tenancy.secret(login, login.dsn(address))
        del secret["stringData"]
        secret["metadata"]["name"] = self._name
        return {**secret, "data": {self._key: base64.b64encode(login.dsn(address).encode()).decode()}}
