"""A far end as a program: takes messages by HTTP and SMTP, misbehaves on order, keeps a ledger.

Tests, chaos runs and the demo send to it and read its ledger as the truth about who got what::

    settings = SimulatorSettings(ledger=tmp_path / "ledger.ndjson")
    async with serve(settings) as far_end:
        ...  # send to far_end.http_port, far_end.smtp_port
        await far_end.control({"outage": "refuse"})
        assert not far_end.ledger().duplicates()

``server`` brings connections to the fronts (``http_front``, ``smtp_session``), these hand what they
have read to ``far_end``, which decides by ``fate``, ``keys`` and ``pace`` and writes the ``ledger``
before anything is answered. ``command`` is the same as a program.
"""

from sendonce_cli.simulate.behaviour import Behaviour, Chances, Outage, Pace, SettingsError
from sendonce_cli.simulate.ledger import Ledger, LedgerError, LedgerRow
from sendonce_cli.simulate.outcomes import Cause, Outcome
from sendonce_cli.simulate.server import Simulator, serve
from sendonce_cli.simulate.settings import ChanceBy, RefuseAt, SimulatorSettings, SmtpTls, Style

__all__ = [
    "Behaviour",
    "Cause",
    "ChanceBy",
    "Chances",
    "Ledger",
    "LedgerError",
    "LedgerRow",
    "Outage",
    "Outcome",
    "Pace",
    "RefuseAt",
    "SettingsError",
    "Simulator",
    "SimulatorSettings",
    "SmtpTls",
    "Style",
    "serve",
]
