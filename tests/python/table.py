# SPDX-License-Identifier: BSD-2-Clause
"""table.py [wait]: prints dumps() of what it has marked as lines `csv ...`, for comparison with `proftrace report`; and
compares what TimerHook measures with a clock of its own.
"""

import time

import expect
import proftrace
from proftrace import TimerHook

ATTEMPTS = 5


def marks():
    for i in range(50):
        with proftrace.scope("outer", i=i):
            for _ in range(i % 3):
                with proftrace.scope("inner"):
                    proftrace.instant("moment")
        proftrace.counter("loss", 1 / (i + 1))


def hooked():
    """How far the sum of the self times is from the time that was measured, as a share of it."""
    begin = time.perf_counter()
    with TimerHook() as hook:
        with proftrace.scope("measured"):
            for _ in range(3):
                with proftrace.scope("part"):
                    time.sleep(0.02)
                    with proftrace.scope("inner part"):
                        time.sleep(0.01)
    measured = time.perf_counter() - begin
    own = sum(row["self_time"] for row in hook.summary().values())
    assert own <= measured, (own, measured)
    return 1 - own / measured


expect.wait_for_recorder()
marks()
for line in proftrace.dumps(format="csv").splitlines():
    print("csv " + line)
# Without a recorder that takes marks: the least of some attempts, since the machine may be busy with something else.
proftrace.pause()
apart = min(hooked() for _ in range(ATTEMPTS))
print("hook " + ("adds up" if apart < 0.01 else f"misses {apart:.3f}"))
