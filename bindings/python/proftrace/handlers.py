# SPDX-License-Identifier: BSD-2-Clause
"""Trace handlers in Python: what is recorded, as it is recorded, in a process of its own.

    # mine.py
    import proftrace

    class Mine(proftrace.TraceHandler):
        def process_duration_event(self, name, categories, is_start, timestamp, wall_clock_time_ns): ...
        def batch_end(self, state, logger=None): ...        # of state.epoch, state.batch_in_epoch, state.process
        def close(self): ...

    $ sudo proftrace --handler "$(python3 -m proftrace.handlers)=mine:Mine" -- python3 train.py

`mine` is a module, or the path of a file (./mine.py:Mine). Without an argument the command prints the path of the
plug-in, which starts it again with the class. An exception of the class ends it, and the recording goes on.

The moments of the run are those that the steps of a process tell: a batch ends where another one begins, or with the
recording.
"""

import dataclasses
import importlib
import importlib.util
import json
import os
import sys
from typing import Optional

from ._composer import State


@dataclasses.dataclass(frozen=True)
class Timestamp:
    """Where the program was: of its last step(), None if there was none; and the thread and values of the event."""

    epoch: Optional[int]
    batch_in_epoch: Optional[int]
    process: int
    thread: int
    args: dict


def plugin():
    """The path of the plug-in, for `proftrace --handler`."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "_handler.abi3.so")


def _load_class(argument):
    name, _, cls = argument.rpartition(":")
    if name.endswith(".py"):
        spec = importlib.util.spec_from_file_location("handler", name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, os.getcwd())
        module = importlib.import_module(name)
    return getattr(module, cls)


def _tell_step(handler, states, process, step):
    state = states.get(process)
    if not step or (state and step == [state.epoch, state.batch_in_epoch]):
        return
    is_new_epoch = not state or step[0] != state.epoch
    if state:
        handler.batch_end(state)
        if is_new_epoch:
            handler.epoch_end(state)
    else:
        state = states[process] = State()
        state.process = process
    state.epoch, state.batch_in_epoch = step
    if is_new_epoch:
        handler.epoch_start(state)
    handler.batch_start(state)


def _run(handler, lines):
    to_wall_clock = 0
    states = {}
    handler.init(State())
    for line in lines:
        kind, *rest = json.loads(line)
        if kind == "start":
            to_wall_clock = rest[1] - rest[0]
            continue
        if kind == "file":
            handler.process_chrome_json_trace_file(rest[0])
            continue
        name, categories, is_start, time, step, process, thread, args = rest
        _tell_step(handler, states, process, step)
        timestamp = Timestamp(*(step or (None, None)), process, thread, args)
        which = (name, categories.split(",") if categories else [])
        if kind == "duration":
            handler.process_duration_event(*which, bool(is_start), timestamp, time + to_wall_clock)
        elif kind == "instant":
            handler.process_instant_event(*which, timestamp, time + to_wall_clock)
        else:
            handler.process_counter_event(*which, timestamp, time + to_wall_clock, args)
    for state in states.values():
        handler.batch_end(state)
        handler.epoch_end(state)


def main(argument):
    handler = _load_class(argument)()
    # The plug-in waits for this byte. Ctrl-C is for the recorder, which then ends this process by the end of the events.
    os.write(0, b"1")
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(0, encoding="utf-8", errors="replace") as lines:
        _run(handler, lines)
    handler.close()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    else:
        print(plugin())
