"""What docs/operations.md says of room: about so many bytes per delivery."""

import asyncio

from tools.capacity import run


async def test_a_delivery_takes_about_as_much_room_as_the_docs_say(dsn: str) -> None:
    measured = await asyncio.to_thread(run, dsn, 20_000)
    each = sum(measured.tables.values()) / measured.people
    # docs/operations.md: about 1.1 KB, a million deliveries per GiB
    assert 800 < each < 1400, measured.report()
    assert "deliveries per GiB" in measured.report()
    assert measured.log > 0
