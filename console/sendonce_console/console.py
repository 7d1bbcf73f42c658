"""What the whole console shares, put together once at the entry point."""

from __future__ import annotations

from dataclasses import dataclass

from sendonce_console.access.forms import Forms
from sendonce_console.access.viewer import Door
from sendonce_console.levers.interface import Levers
from sendonce_console.metrics import ConsoleMetrics
from sendonce_console.reading import Reader
from sendonce_console.settings import ConsoleSettings
from sendonce_console.web.sealing import Searches
from sendonce_console.web.static import StaticFiles
from sendonce_console.web.templating import Pages


@dataclass(frozen=True, slots=True)
class Console:
    """The parts that handlers use."""

    settings: ConsoleSettings
    reader: Reader
    door: Door
    forms: Forms
    static: StaticFiles
    pages: Pages
    levers: Levers
    metrics: ConsoleMetrics
    searches: Searches
