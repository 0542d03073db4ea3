# SPDX-License-Identifier: BSD-2-Clause
"""Composer's profiler: markers by name, and schedules by which the program itself decides what is recorded."""

import enum
import functools

from . import _load

_native = _load.native


class ProfilerAction(enum.IntFlag):
    """What a schedule says of a batch. The numbers are those of PROF_ON_... in proftrace.h."""

    SKIP = 0
    WARMUP = 1
    ACTIVE = 2
    ACTIVE_AND_SAVE = 4


SKIP = ProfilerAction.SKIP
WARMUP = ProfilerAction.WARMUP
ACTIVE = ProfilerAction.ACTIVE
ACTIVE_AND_SAVE = ProfilerAction.ACTIVE_AND_SAVE


def cyclic_schedule(skip_first=0, wait=0, warmup=1, active=4, repeat=1):
    """A schedule: skip the first batches of each epoch, then cycles of wait, warmup and active ones.

    The last active batch of each cycle is ACTIVE_AND_SAVE. repeat: cycles in each epoch, 0 for as many as there are.
    """

    def schedule(state):
        batch = _batch_of(state)
        cycle = wait + warmup + active
        if batch < skip_first or not cycle:
            return SKIP
        position = batch - skip_first
        if repeat and position >= repeat * cycle:
            return SKIP
        position %= cycle
        if position < wait:
            return SKIP
        if position < wait + warmup:
            return WARMUP
        return ACTIVE_AND_SAVE if position == cycle - 1 else ACTIVE

    return schedule


def _batch_of(state):
    """The number of the batch in its epoch: of Composer's State, or of ours."""
    timestamp = getattr(state, "timestamp", state)
    return int(getattr(timestamp, "batch_in_epoch", 0))


class State:
    """Where the training is, for schedules."""

    def __init__(self):
        self.epoch = 0
        self.batch_in_epoch = 0


class TraceHandler:
    """What is recorded, handed to a class of one's own: redefine what you need.

    `proftrace --handler` runs it in a process of its own: see proftrace.handlers. A Profiler tells those it is given
    of the moments of the run, from init to close, too.
    """

    def process_duration_event(self, name, categories, is_start, timestamp, wall_clock_time_ns):
        pass

    def process_instant_event(self, name, categories, timestamp, wall_clock_time_ns):
        pass

    def process_counter_event(self, name, categories, timestamp, wall_clock_time_ns, values):
        pass

    def process_chrome_json_trace_file(self, filepath):
        pass

    def init(self, state, logger=None):
        pass

    def epoch_start(self, state, logger=None):
        pass

    def epoch_end(self, state, logger=None):
        pass

    def batch_start(self, state, logger=None):
        pass

    def batch_end(self, state, logger=None):
        pass

    def close(self):
        pass


class JSONTraceHandler(TraceHandler):
    """Stands for the files that a recording writes by itself. Where they go `proftrace -o` says."""

    def __init__(self, *args, **keywords):
        self.arguments = (args, keywords)


class Profiler:
    """Markers of a training, recorded as a schedule says.

    The program says where it is by step(), or by batch_start() and its like; markers are then recorded in those
    phases that they name in `actions`. Without a schedule, all are. The end of an ACTIVE_AND_SAVE batch has the
    trace written out.
    """

    def __init__(self, schedule=None, trace_handlers=(), **others):
        self.schedule = schedule
        self.trace_handlers = list(trace_handlers)
        self.state = State()
        self._markers = {}
        self._gate = _native.Gate()
        if schedule is not None:
            self._gate.phase = int(schedule(self.state))

    def marker(
        self,
        name,
        actions=(WARMUP, ACTIVE, ACTIVE_AND_SAVE),
        record_instant_on_start=False,
        record_instant_on_finish=False,
        categories=(),
    ):
        """The marker of this name: made on first use, later the same one."""
        marker = self._markers.get(name)
        if marker is None:
            bits = functools.reduce(lambda all, action: all | int(action), actions, 0)
            categories = [categories] if isinstance(categories, str) else list(categories)
            marker = _native.Marker(
                None,
                name,
                ",".join(categories) or None,
                int(bool(record_instant_on_start)) | 2 * int(bool(record_instant_on_finish)),
                bits,
                self._gate if self.schedule is not None else None,
            )
            self._markers[name] = marker
        return marker

    @property
    def action(self):
        """What the schedule says of the present batch; ACTIVE without one."""
        return ProfilerAction(self._gate.phase) if self.schedule is not None else ACTIVE

    def record_chrome_json_trace_file(self, filepath):
        """Have the events of another profiler's trace in this one. False: nobody records."""
        for handler in self.trace_handlers:
            handler.process_chrome_json_trace_file(filepath)
        return _native.include_chrome_json(filepath)

    def _tell(self, moment, *args):
        for handler in self.trace_handlers:
            getattr(handler, moment)(*args)

    def init(self, state=None):
        self._tell("init", state or self.state)

    def step(self, epoch, batch, state=None):
        """The program begins this batch of this epoch."""
        self.state.epoch = epoch
        self.state.batch_in_epoch = batch
        if self.schedule is not None:
            if self._gate.phase == ACTIVE_AND_SAVE:
                _native.dump()
            self._gate.phase = int(self.schedule(state if state is not None else self.state))
        _native.step(epoch, batch)

    def epoch_start(self, state=None):
        self._tell("epoch_start", state or self.state)

    def epoch_end(self, state=None):
        self._tell("epoch_end", state or self.state)
        if state is None:
            self.state.epoch += 1
            self.state.batch_in_epoch = 0

    def batch_start(self, state=None):
        timestamp = getattr(state, "timestamp", self.state)
        self.step(int(timestamp.epoch), int(timestamp.batch_in_epoch), state)
        self._tell("batch_start", state or self.state)

    def batch_end(self, state=None):
        self._tell("batch_end", state or self.state)
        if state is None:
            self.state.batch_in_epoch += 1

    def close(self):
        if self.schedule is not None and self._gate.phase == ACTIVE_AND_SAVE:
            _native.dump()
        self._tell("close")


def profiler(schedule=None, trace_handlers=(), **others):
    """A Profiler; what Composer's takes besides is accepted and left to `proftrace`."""
    return Profiler(schedule, trace_handlers, **others)
