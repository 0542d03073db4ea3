# SPDX-License-Identifier: BSD-2-Clause
"""Slices measured by the process itself, whether or not somebody records."""

import sys

from . import _load

_native = _load.native


class TimerHook:
    """Measures the slices of this process while it is entered, after Chainer's hook of this name.

        with TimerHook() as hook:
            train()
        hook.print_report()

    Elapsed is the time from the beginning of a slice to its end; where a name is nested in itself it counts once.
    Self is the time outside of other slices within it: the column adds up to the time that was measured.
    """

    name = "TimerHook"
    _units = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}

    def __init__(self):
        self._entries = []

    def __enter__(self):
        _native.start_timer(self._entries)
        return self

    def __exit__(self, *exception):
        _native.stop_timer(self._entries)

    @property
    def call_history(self):
        """A pair of name and seconds for each slice, in the order in which they ended."""
        return [(name, elapsed) for name, elapsed, _, _ in self._entries]

    def total_time(self):
        """The seconds that were spent in slices."""
        return sum(own for _, _, own, _ in self._entries)

    def summary(self):
        """A dictionary of each name's elapsed_time, self_time and occurrence."""
        table = {}
        for name, elapsed, own, nested in list(self._entries):
            row = table.setdefault(name, {"elapsed_time": 0.0, "occurrence": 0, "self_time": 0.0})
            row["elapsed_time"] += 0 if nested else elapsed
            row["self_time"] += own
            row["occurrence"] += 1
        return table

    def _unit_of(self, seconds, unit):
        if unit == "auto" or unit == "auto_foreach":
            return next((u for u in ("s", "ms", "us") if seconds * self._units[u] >= 1), "ns")
        return unit

    def print_report(self, unit="auto", file=sys.stdout):
        """Print the summary as a table; unit is s, ms, us, ns, auto, or auto_foreach (for each row)."""
        table = self.summary()
        longest = max((row["elapsed_time"] for row in table.values()), default=0)
        common = self._unit_of(longest, unit)
        width = max([len("FunctionName"), *map(len, table)])
        heading = f"{'FunctionName':<{width}}  {'ElapsedTime':>12}  {'SelfTime':>12}  {'Occurrence':>10}"
        print(heading, file=file)
        for name, row in table.items():
            own = self._unit_of(row["elapsed_time"], unit) if unit == "auto_foreach" else common
            times = (f"{row[k] * self._units[own]:.2f}{own}" for k in ("elapsed_time", "self_time"))
            print(f"{name:<{width}}", *(f"{t:>12}" for t in times), f"{row['occurrence']:>10}", sep="  ", file=file)
