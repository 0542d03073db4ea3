# SPDX-License-Identifier: BSD-2-Clause
"""Marks in a Python program that a tracer can see, and that cost next to nothing until then.

    import proftrace

    with proftrace.scope("parse", file=path):       # a slice of this thread
        ...

    @proftrace.function                             # each call is one; coroutine functions too
    def load(batch): ...

    async with proftrace.scope("request", id=7):    # one that follows the task through its waits
        ...

    proftrace.instant("cache miss", key=key)
    proftrace.counter("queue", len(queue))

    # sudo proftrace -o trace -- python3 program.py        or  sudo proftrace -p PID

Nothing has to be initialised, and the program needs no privileges: whoever records does. Values are bool, int,
float and str; others become strings while somebody records. A mark never raises an exception: one that cannot be
made is left out and counted, see problems() and strict().

proftrace.mxnet has MXNet's names, proftrace.profiler() is Composer's Profiler, proftrace.TimerHook Chainer's, and
proftrace.torch.trace(model) makes slices of the modules of a model.
"""

import os as _os

from . import _load
from ._composer import (
    ACTIVE,
    ACTIVE_AND_SAVE,
    SKIP,
    WARMUP,
    JSONTraceHandler,
    Profiler,
    ProfilerAction,
    TraceHandler,
    cyclic_schedule,
    profiler,
)
from ._recording import Recording, dumps, record
from ._timer import TimerHook

__version__ = "0.1.0"

_native = _load.native

Domain = _native.Domain
Scope = _native.Scope
Function = _native.Function
Task = _native.Task
Frame = _native.Frame
Event = _native.Event
Marker = _native.Marker
Counter = _native.Counter
Track = track = _native.Track

#: The domain of the functions below.
default = _native.default
scope = default.scope
function = default.function
instant = default.instant
begin = default.begin
end = default.end
async_begin = default.async_begin
async_end = default.async_end
slice_at = default.slice_at
instant_at = default.instant_at
counter = default.counter
counters = default.counters

flow_out = _native.flow_out
flow_in = _native.flow_in
step = _native.step
pause = _native.pause
resume = _native.resume
dump = _native.dump
stop = _native.stop
include_chrome_json = _native.include_chrome_json
is_recorded = _native.is_recorded
problems = _native.problems
strict = _native.strict


def enabled():
    """Whether somebody records the default domain, to guard what only marks need."""
    return default.enabled


def thread_name(name=None):
    """Name the calling thread, and its track: by default as threading calls it."""
    if name is None:
        import threading

        name = threading.current_thread().name
    _native.set_thread_name(name)


class memory_scope:
    """What is allocated within it belongs to the pool "name:pool" in place of "pool"."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        _native.memory_scope_push(self.name)
        return self

    def __exit__(self, *exception):
        _native.memory_scope_pop()


def _trace_awaitable(awaitable, scope):
    # Only where a decorated coroutine function is recorded.
    from ._awaitables import trace_awaitable

    _native.trace_awaitables_by(trace_awaitable)
    return trace_awaitable(awaitable, scope)


_native.trace_awaitables_by(_trace_awaitable)
if _os.environ.get("PROFTRACE_STRICT"):
    strict(True)

# help() shows these, wherever they are defined.
__all__ = [_name for _name in dir() if not _name.startswith("_")]
