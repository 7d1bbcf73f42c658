"""What providers report later: delivered, bounced, complained, unsubscribed. docs/receipts.md says how each is set up.

    POST /receipts/{namespace}/{kind}/{provider}
      ├─ set up?       registry, folder      404
      ├─ not too much  limits, bodies        429, 413, 408; 503 when too many are under way
      ├─ from whom?    named.*.verify        401 no signature, 403 a wrong or an old one
      ├─ what is said  named.*.parse         400
      └─ take it in    store.receipts        200; 503: send it again

`receipt_routes` gives the routes, `Desk` does the work.
"""

from __future__ import annotations

from aiohttp import web

from sendonce_gateway.metrics import GatewayMetrics
from sendonce_gateway.receipts.counting import ReceiptMetrics
from sendonce_gateway.receipts.desk import Desk
from sendonce_gateway.receipts.fetching import Fetching
from sendonce_gateway.receipts.folder import SecretFolder
from sendonce_gateway.settings import GatewaySettings
from sendonce_gateway.store import Pool

__all__ = ["receipt_routes"]


def receipt_routes(pool: Pool, settings: GatewaySettings, metrics: GatewayMetrics) -> list[web.RouteDef]:
    """The route of all reports."""
    folder = SecretFolder(settings.receipts_dir)
    desk = Desk(pool, settings, folder, Fetching(), ReceiptMetrics(metrics.registry))
    return [web.post("/receipts/{namespace}/{kind}/{provider}", desk.take)]
