# SPDX-License-Identifier: BSD-2-Clause
"""A trace handler that writes what it is called with as `canon` would, for verify_handler.py."""

import os
import time
from collections import Counter

import proftrace


class Mine(proftrace.TraceHandler):
    def __init__(self, path=os.environ.get("MINE")):
        self.path = path
        self.lines = Counter()
        self.begun = time.time_ns()

    def add(self, kind, name, categories, wall_clock_time_ns):
        assert isinstance(categories, list)
        # The clock of the machine may be set meanwhile, but not by hours.
        assert abs(wall_clock_time_ns - self.begun) < 3600 * 10**9
        self.lines[f"{kind} {name} {','.join(categories)}"] += 1

    def process_duration_event(self, name, categories, is_start, timestamp, wall_clock_time_ns):
        self.add("START" if is_start else "END", name, categories, wall_clock_time_ns)

    def process_instant_event(self, name, categories, timestamp, wall_clock_time_ns):
        self.add("INSTANT", name, categories, wall_clock_time_ns)

    def process_counter_event(self, name, categories, timestamp, wall_clock_time_ns, values):
        assert all(isinstance(value, (int, float)) for value in values.values())
        if not name.endswith("rate"):
            self.add("COUNTER", name, [], wall_clock_time_ns)

    def process_chrome_json_trace_file(self, filepath):
        self.lines[f"FILE {filepath} -"] += 1

    def init(self, state, logger=None):
        self.lines["MOMENT init -"] += 1

    def epoch_start(self, state, logger=None):
        self.lines[f"MOMENT epoch_start {state.epoch}"] += 1

    def epoch_end(self, state, logger=None):
        self.lines[f"MOMENT epoch_end {state.epoch}"] += 1

    def batch_start(self, state, logger=None):
        self.lines[f"MOMENT batch_start {state.epoch}/{state.batch_in_epoch}"] += 1

    def batch_end(self, state, logger=None):
        self.lines[f"MOMENT batch_end {state.epoch}/{state.batch_in_epoch}"] += 1

    def close(self):
        self.lines["MOMENT close -"] += 1
        if self.path:
            with open(self.path, "w", encoding="utf-8") as out:
                for line, n in sorted(self.lines.items()):
                    print(line, n, file=out)
