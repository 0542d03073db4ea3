# SPDX-License-Identifier: BSD-2-Clause
"""What a program has marked, counted by itself, for verify.py."""

import json
import os
import sys
import threading
from collections import Counter

_lock = threading.Lock()
_all = Counter()
_marks = 0
_threads = Counter()


class Count:
    """The marks of one thread or task: only it adds to it."""

    def __init__(self):
        self.lines = Counter()
        self.marks = 0

    def saw(self, kind, name, categories="default", args="", n=1, marks=None):
        """`marks`: how many marks it took, where that is not as many as there are events."""
        self.lines[f"{kind} {name} {categories}{args and ' ' + args}"] += n
        self.marks += n if marks is None else marks

    def slice(self, name, categories="default", args="", n=1):
        """A beginning and its end, which has no name."""
        self.saw("BEGIN", name, categories, args, n)
        self.marks += n

    def async_slice(self, name, categories="default", args="", n=1):
        self.saw("ASYNC_BEGIN", name, categories, args, n)
        self.saw("ASYNC_END", name, categories, "", n)

    def done(self, thread=None):
        """Adds it to what the process has marked; `thread`: the name of the track that has its slices."""
        global _marks
        with _lock:
            _all.update(self.lines)
            _marks += self.marks
            if thread:
                _threads[thread] += sum(n for line, n in self.lines.items() if line.startswith("BEGIN "))


def merged(text):
    """Adds what another process has printed."""
    global _marks
    told = json.loads(text)
    with _lock:
        _all.update(told["events"])
        _threads.update(told["threads"])
        _marks += told["marks"]


def told():
    return json.dumps({"marks": _marks, "events": _all, "threads": _threads})


def tell():
    """Print it, on one line, beside other lines of standard output."""
    print("expected " + told(), flush=True)


def wait_for_recorder():
    """Where the program was started with `wait`: say who it is, and wait for a line before the first mark."""
    if "wait" in sys.argv:
        print(f"ready {os.getpid()}", flush=True)
        sys.stdin.readline()

