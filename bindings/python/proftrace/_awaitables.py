# SPDX-License-Identifier: BSD-2-Clause
"""What a decorated coroutine function or generator function returns, as an asynchronous slice.

It begins with the first step and ends with the last one, wherever the steps are taken. Called by the extension
module, and only while somebody records. Asynchronous generators are left as they are.
"""

import inspect


async def _trace_coroutine(coroutine, scope):
    async with scope:
        return await coroutine


def _trace_generator(generator, scope):
    scope.__aenter__()
    try:
        return (yield from generator)
    finally:
        scope.__aexit__(None, None, None)


def trace_awaitable(awaitable, scope):
    """The same, in a scope."""
    if inspect.iscoroutine(awaitable):
        return _trace_coroutine(awaitable, scope)
    if inspect.isgenerator(awaitable):
        return _trace_generator(awaitable, scope)
    return awaitable
