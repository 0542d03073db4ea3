# SPDX-License-Identifier: BSD-2-Clause
"""records.py DIRECTORY: a program that starts its own recordings, one as MXNet's users do, and says what is in them."""

import os
import sys

import expect
import proftrace
from proftrace import mxnet as profiler

directory = sys.argv[1]
count = expect.Count()


def mark(n):
    for i in range(n):
        with proftrace.scope("recorded", i=i % 2):
            proftrace.instant("moment")
    for i in range(2):
        count.slice("recorded", args=f"i=n:{i}", n=len(range(i, n, 2)))
    count.saw("INSTANT", "moment", n=n)


if sys.argv[2] == "record":
    assert not proftrace.is_recorded() and not proftrace.pause() and proftrace.dumps() == ""
    os.environ["PATH"], path = "/nowhere", os.environ["PATH"]
    program = os.environ.pop("PROFTRACE")
    failed = proftrace.record(directory + "/none")
    assert not failed and "cannot start" in failed.error and not failed.stop(), failed.error
    os.environ["PATH"], os.environ["PROFTRACE"] = path, program
    failed = proftrace.record(directory + "/no/such/directory/t")
    assert not failed and failed.error, failed.error
    with proftrace.record(directory + "/t", "-e", "none", "--summary-json", directory + "/s") as recording:
        assert recording, recording.error
        mark(50)
        assert '"recorded"' in proftrace.dumps(format="json")
    assert not recording and "marks" in recording.summary, recording.summary
else:
    profiler.set_config(profile_all=True, aggregate_stats=True, filename=directory + "/t")
    assert not profiler.set_state("run", profile_process="server")
    assert profiler.set_state("run")
    mark(20)
    # Nothing is recorded meanwhile.
    assert profiler.pause()
    with proftrace.scope("paused"):
        pass
    assert profiler.resume()
    mark(5)
    assert "recorded" in profiler.dumps()
    assert profiler.set_state("stop")
    with proftrace.scope("stopped"):
        pass
    assert profiler.dump()
    assert not profiler.dump()
    for instant in "pause", "resume", "pause":
        count.saw("INSTANT", instant, "-")
with proftrace.scope("not recorded"):
    pass
count.done()
expect.tell()
