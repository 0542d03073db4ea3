#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the marks of the Python package cost beyond a bare loop, in ns: PYTHONPATH=build/python tools/bench/python.py [N]

Each loop is timed N times (300), and the fastest counts: others are slowed by what else the machine does. The exit
status is 1 if one costs more than it may while nobody records. Under `proftrace record`, where N should be 5,
it prints what the marks cost while somebody records. Where PyTorch is installed, it also compares a forward of about
30 us, of four modules, with the same one traced by proftrace.torch: at most 1 % more while nobody records, 5 % more in
buffered mode.
"""

import sys
import time

import proftrace
from proftrace import counter, instant, scope

LOOPS = 5_000
TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 300


def nothing():
    pass


@proftrace.function
def decorated():
    pass


domain = proftrace.Domain("bench")
task = proftrace.Task(domain, "task")
marker = proftrace.profiler().marker("marker")


def bare():
    for _ in range(LOOPS):
        pass


def bare_call():
    for _ in range(LOOPS):
        nothing()


def loop_instant():
    for _ in range(LOOPS):
        instant("name")


def loop_module_instant():
    for _ in range(LOOPS):
        proftrace.instant("name")


def loop_instant_args():
    for _ in range(LOOPS):
        instant("name", a=1, b="text")


def loop_counter():
    for _ in range(LOOPS):
        counter("name", 1)


def loop_scope():
    for _ in range(LOOPS):
        with scope("name"):
            pass


def loop_scope_args():
    for _ in range(LOOPS):
        with scope("name", a=1):
            pass


def loop_decorated():
    for _ in range(LOOPS):
        decorated()


def loop_task():
    for _ in range(LOOPS):
        task.start()
        task.stop()


def loop_marker():
    for _ in range(LOOPS):
        with marker:
            pass


def time_once(loop):
    begin = time.perf_counter_ns()
    loop()
    return (time.perf_counter_ns() - begin) / LOOPS


# What is timed, what it is compared with, and the most that it may cost while nobody records.
ROWS = [
    ("instant(name)", loop_instant, bare, 25),
    ("proftrace.instant(name)", loop_module_instant, bare, 25),
    ("instant(name, a=1, b='text')", loop_instant_args, bare, None),
    ("counter(name, 1)", loop_counter, bare, 25),
    ("with scope(name)", loop_scope, bare, 90),
    ("with scope(name, a=1)", loop_scope_args, bare, None),
    ("a decorated call, beyond the call", loop_decorated, bare_call, 20),
    ("task.start(), task.stop()", loop_task, bare, None),
    ("with marker", loop_marker, bare, None),
]


def time_forward():
    """The fastest forward of a model, as it is and traced in turn, in ns; None without PyTorch."""
    try:
        import torch
        from proftrace.torch import trace, untrace
    except ImportError:
        return None
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128))
    data = torch.randn(1, 128)
    fastest = [1e9, 1e9]
    with torch.no_grad():
        for i in range(4 * TIMES):
            (trace if i % 2 else untrace)(model)
            for _ in range(100):
                begin = time.perf_counter_ns()
                model(data)
                fastest[i % 2] = min(fastest[i % 2], time.perf_counter_ns() - begin)
    return fastest


def compare_forward(recorded):
    """Whether a traced forward takes more than it may."""
    fastest = time_forward()
    if not fastest:
        print("a forward of PyTorch: not measured: it is not installed (python3-torch)")
        return False
    percent = 100 * (fastest[1] / fastest[0] - 1)
    most = 5 if recorded else 1
    over = percent > most and not recorded
    print(
        f"a forward of PyTorch, {fastest[0] / 1000:.1f} us, traced{percent:17.2f} %   at most {most}"
        f"{' in buffered mode' if recorded else ''}{'  TOO SLOW' if over else ''}"
    )
    return over


def main():
    fastest = {}
    loops = {loop for _, loop, base, _ in ROWS for loop in (loop, base)}
    for _ in range(TIMES):
        for loop in loops:
            fastest[loop] = min(fastest.get(loop, 1e9), time_once(loop))
    recorded = proftrace.enabled()
    print("recorded" if recorded else "nobody records", "Python", sys.version.split()[0])
    failed = 0
    for name, loop, base, most in ROWS:
        cost = fastest[loop] - fastest[base]
        over = most is not None and not recorded and cost > most
        failed |= over
        limit = f"  at most {most}" if most and not recorded else ""
        print(f"{name:36}{cost:9.1f} ns{limit}{'  TOO SLOW' if over else ''}")
    return compare_forward(recorded) | failed


sys.exit(main())
