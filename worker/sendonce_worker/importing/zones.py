"""IANA time zone names, matched whatever their case."""

from functools import lru_cache
from zoneinfo import available_timezones


@lru_cache(maxsize=1)
def _zones() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones()}


def canonical_zone(text: str) -> str | None:
    """The name as the IANA database spells it ("asia/tokyo" → "Asia/Tokyo"), or None if there is no such zone."""
    return _zones().get(text.lower())
