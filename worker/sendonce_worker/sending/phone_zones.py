"""The time zone that a phone number tells: a number in E.164 in, an IANA name or None out.

Only where it is certain: the number is one of a country (libphonenumber) of which every zone keeps the same time from
now on. Which zones a country has stands in zone.tab of the IANA database; what time a zone keeps is the last line of
its file (RFC 8536 §3.3), a rule such as `CET-1CEST,M3.5.0,M10.5.0/3`. So Germany has one time though it has two zones,
and a number of the United States tells none: people keep their numbers when they move.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from phonenumbers import NumberParseException, parse, region_code_for_number


@lru_cache(maxsize=4096)
def zone_of_phone(number: str) -> str | None:
    """The zone of the number's country; None where the country is not known, or keeps several times."""
    try:
        region = region_code_for_number(parse(number))
    except NumberParseException:
        return None
    return None if region is None else zone_of_country(region)


@lru_cache(maxsize=300)
def zone_of_country(region: str) -> str | None:
    """The first zone of a country (ISO 3166, two letters) if all of its zones keep the same time."""
    zones = _zones_of_countries().get(region, ())
    return zones[0] if len({_rule(zone) for zone in zones}) == 1 else None


@lru_cache(maxsize=1)
def _zones_of_countries() -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    text = (files("tzdata") / "zoneinfo" / "zone.tab").read_text("utf-8")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            country, _, zone, *_ = line.split("\t")
            found[country].append(zone)
    return found


def _rule(zone: str) -> bytes:
    return (files("tzdata") / "zoneinfo" / zone).read_bytes().rsplit(b"\n", 2)[-2]
