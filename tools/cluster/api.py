"""Ask the API server, as its administrator.

In: a cluster's folders and address. Out: status and body of an answer. Readiness is asked for before any client library
could connect, hence plain HTTP over TLS.
"""

import http.client
import json
import ssl
from typing import Any

from tools.cluster.places import Places

_OK = 200


class Api:
    """One API server. Each question takes its own connection."""

    def __init__(self, places: Places, host: str, port: int) -> None:
        self._context = ssl.create_default_context(cafile=places.authority)
        self._context.load_cert_chain(*places.certificate("admin"))
        self._address = (host, port)

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body; status 0 when there was no answer."""
        connection = http.client.HTTPSConnection(*self._address, context=self._context, timeout=5)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            return 0, b""
        finally:
            connection.close()

    def is_ready(self) -> bool:
        """Return whether the API server says that it is ready."""
        return self.get("/readyz")[0] == _OK

    def has(self, path: str) -> bool:
        """Return whether there is an object at a path."""
        return self.get(path)[0] == _OK

    def node_is_ready(self, name: str) -> bool:
        """Return whether a node's condition Ready is True."""
        status, body = self.get(f"/api/v1/nodes/{name}")
        if status != _OK:
            return False
        conditions: list[dict[str, Any]] = json.loads(body)["status"].get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
