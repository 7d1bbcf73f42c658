"""A store of files as clouds have them: over TLS, and to whoever brings the signature of a presigned URL.

In: a folder, an address, a certificate. Out: a server in a thread.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

SIGNATURE = "0123456789abcdef"


class _Files(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if query.get("X-Signature") == [SIGNATURE]:
            super().do_GET()
        else:
            self.send_error(HTTPStatus.FORBIDDEN)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@contextmanager
def files(folder: Path, host: str, chain: Path) -> Iterator[int]:
    """Serve the files of a folder; yields the port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    with ThreadingHTTPServer((host, 0), partial(_Files, directory=str(folder))) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
