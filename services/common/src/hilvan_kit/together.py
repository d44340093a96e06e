"""Waits for several answers at the same time."""

import asyncio
from collections.abc import Awaitable
from typing import Any


async def together(*asked: Awaitable[Any]) -> list[Any]:
    """The results in order. When one fails the others end before its exception is raised."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
