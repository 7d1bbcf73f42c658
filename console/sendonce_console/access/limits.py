"""How often something may be tried: a key (an address) and a moment in, the seconds to wait out.

A token bucket per key and one for all keys together. The memory is bounded: the key that was idle for longest goes.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

_MOST_KEYS = 10_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Limiter:
    """Allows `per_minute` for a key, and `all_per_minute` for all together; as many at once at the beginning."""

    def __init__(self, per_minute: float, all_per_minute: float) -> None:
        """Nothing has been tried yet."""
        self._rate, self._all_rate = per_minute / 60, all_per_minute / 60
        self._burst, self._all_burst = per_minute, all_per_minute
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._all = _Bucket(all_per_minute, 0.0)

    def wait(self, key: str, now: float) -> float:
        """Seconds until the key may try; 0: now. `now` in seconds, growing."""
        own = self._buckets.get(key)
        here = 0.0 if own is None else _missing(own, self._rate, self._burst, now)
        return max(here, _missing(self._all, self._all_rate, self._all_burst, now))

    def note(self, key: str, now: float) -> None:
        """One try, of the kind that counts."""
        own = self._buckets.setdefault(key, _Bucket(self._burst, now))
        self._buckets.move_to_end(key)
        while len(self._buckets) > _MOST_KEYS:
            self._buckets.popitem(last=False)
        _take(own, self._rate, self._burst, now)
        _take(self._all, self._all_rate, self._all_burst, now)


def _filled(bucket: _Bucket, rate: float, burst: float, now: float) -> float:
    return min(burst, bucket.left + max(0.0, now - bucket.at) * rate)


def _missing(bucket: _Bucket, rate: float, burst: float, now: float) -> float:
    return max(0.0, (1 - _filled(bucket, rate, burst, now)) / rate)


def _take(bucket: _Bucket, rate: float, burst: float, now: float) -> None:
    bucket.left = max(0.0, _filled(bucket, rate, burst, now) - 1)
    bucket.at = now
