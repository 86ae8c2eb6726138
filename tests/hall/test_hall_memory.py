"""Closed pages give their memory back; who stays is left alone."""

import asyncio
import gc
from contextlib import aclosing

from driving import Visitor, events, serving
from patience import LONG


async def looked_at(port, path, number):
    """So many people open a page, hear one thing, and close it."""
    for _ in range(number):
        async with aclosing(events(port, path)) as told:
            async for _ in told:
                break
        await (await Visitor(f"http://localhost:{port}", path).opens()).client.aclose()
    await asyncio.sleep(0.2)
    gc.collect()


def test_closed_pages_leave_nothing_behind_and_another_one_goes_on(tmp_path, short):
    async def run():
        async with serving(tmp_path) as (table, path, _, port):
            await looked_at(port, path, 5)  # what the first pages ever need stays
            before, watching = len(gc.get_objects()), len(table.watchers)
            async with aclosing(events(port, path)) as stays:
                await anext(stays)
                await looked_at(port, path, 40)
                assert len(table.watchers) == watching + 1 and table.pages[0] == 1
                table.sit(0, "Ada")
                while "Your turn" not in str(await anext(stays)):
                    pass
            assert len(gc.get_objects()) - before < 40 * 50

    asyncio.run(asyncio.wait_for(run(), LONG))
