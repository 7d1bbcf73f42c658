"""What is open in the queue: rows of batches in, one line per campaign and provider out, for metrics.

It sees what no worker says of itself: a batch whose holder is frozen, and rows that nobody takes.
"""

from __future__ import annotations

from dataclasses import dataclass

from sendonce_store.connection import Connection
from sendonce_store.queries import load

SQL = load("backlog")


@dataclass(frozen=True, slots=True)
class Line:
    """What a campaign has open over one provider; an import's line has no provider.

    `ready`: deliveries in batches that are held or due; `open`: all that have not ended. `silent`: seconds since the
    last heartbeat of the held batch that has been silent for longest, 0 with none held. `stuck`: leases that have run
    out and that nobody has taken over.
    """

    campaign_id: int
    kind: str
    namespace: str
    provider: str
    ready: int
    open: int
    silent: float
    stuck: int

    @property
    def place(self) -> tuple[str, str, str]:
        """Kind, namespace ('' for a cluster provider) and name of the provider."""
        return self.kind, self.namespace, self.provider


async def read(conn: Connection) -> list[Line]:
    """All that active campaigns have open."""
    cursor = await conn.execute(SQL["backlog"])
    return [Line(**row) for row in await cursor.fetchall()]
