#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What the marks of the Python package cost beyond a bare loop, in ns: PYTHONPATH=build/python tools/bench/python.py
[N [buffered]]

Each loop is timed N times (300), and the fastest counts: others are slowed by what else the machine does. The exit
status is 1 if one costs more than it may while nobody records. Under `proftrace record`, where N should be 5, it prints
what the marks cost while somebody records, and with the word `buffered`, for `--mode batch`, it compares that with what
it may cost, too. Where PyTorch is installed, it also compares a forward of about 30 us, of four modules, with the same
one traced by proftrace.torch: at most 1 % more while nobody records, 5 % more in buffered mode.
"""

import statistics
import sys
import time

import proftrace
from proftrace import counter, instant, scope

LOOPS = 5_000
TIMES = int(sys.argv[1]) if len(sys.argv) > 1 else 300
BUFFERED = sys.argv[2:] == ["buffered"]


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


# What is timed, what it is compared with, and the most that it may cost while nobody records. In buffered mode it may
# cost 100 ns more.
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


def compare_forward(most):
    """Whether a traced forward takes more than it may, in percent: the median of pairs of which each compares the fastest of
    50 calls with that of 50 traced ones just before or after it. What the machine does meanwhile slows both or few pairs.
    """
    try:
        import torch
        from proftrace.torch import trace, untrace
    except ImportError:
        print("a forward of PyTorch: not measured: it is not installed (python3-torch)")
        return False
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Linear(128, 128))
    data = torch.randn(1, 128)

    def fastest():
        times = []
        for _ in range(51):
            begin = time.perf_counter_ns()
            model(data)
            times.append(time.perf_counter_ns() - begin)
        return min(times)

    pairs = []
    with torch.no_grad():
        for i in range(max(300, 2 * TIMES)):
            pair = {}
            for change in (untrace, trace) if i % 2 else (trace, untrace):
                change(model)
                pair[change] = fastest()
            pairs.append((pair[untrace], pair[trace] / pair[untrace]))
    percent = 100 * (statistics.median(ratio for _, ratio in pairs) - 1)
    over = most is not None and percent > most
    print(
        f"a forward of PyTorch, {statistics.median(base for base, _ in pairs) / 1000:.1f} us, traced{percent:17.2f} %"
        f"{'' if most is None else f'   at most {most}'}{'  TOO SLOW' if over else ''}"
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
        if most is not None and recorded:
            most = most + 100 if BUFFERED else None
        over = most is not None and cost > most
        failed |= over
        limit = f"  at most {most}" if most else ""
        print(f"{name:36}{cost:9.1f} ns{limit}{'  TOO SLOW' if over else ''}")
    return compare_forward((5 if BUFFERED else None) if recorded else 1) | failed


sys.exit(main())
