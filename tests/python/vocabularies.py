# SPDX-License-Identifier: BSD-2-Clause
"""vocabularies.py [wait] [table]: what users of Composer, MXNet and Chainer write, with the import changed. With `table`,
what dumps() says of it."""

import contextlib
import io
import json
import sys
import tempfile
import time

import expect
import mine
import proftrace
from proftrace import ACTIVE, ACTIVE_AND_SAVE, SKIP, WARMUP, TimerHook, cyclic_schedule
from proftrace import mxnet as profiler

count = expect.Count()


def composer():
    """Of docs.mosaicml.com: markers."""
    profiler = proftrace.profiler()
    marker = profiler.marker("foo", actions=(WARMUP, ACTIVE, ACTIVE_AND_SAVE), record_instant_on_start=False,
                             record_instant_on_finish=False, categories=())  # fmt: skip
    assert profiler.marker("foo") is marker

    @marker
    def decorated(depth):
        return depth and decorated(depth - 1)

    with marker:
        pass
    marker.start()
    marker.finish()
    marker.instant()
    marker.counter({"loss": 0.3, "lr": 1e-3})
    assert decorated(2) == 0
    count.slice("foo", n=5)
    count.saw("INSTANT", "foo")
    count.saw("COUNTER", "foo", f"loss d:{0.3:.17g}")
    count.saw("COUNTER", "foo", f"lr d:{1e-3:.17g}", marks=0)
    with profiler.marker("both", (ACTIVE,), record_instant_on_start=True, record_instant_on_finish=True, categories=["io", "disk"]) as both:
        # Three series for each mark.
        both.counter({"a": 0.5, "b": 2, "c": 3, "d": -4})
    count.slice("both", "default,io,disk")
    count.saw("INSTANT", "both", "default,io,disk", n=2)
    count.saw("COUNTER", "both", "a d:0.5", marks=2)
    for series in "b n:2", "c n:3", "d n:-4":
        count.saw("COUNTER", "both", series, marks=0)


def other_profiler():
    """The events of an external profiler join the trace. The recorder may read the file after the end of the program."""
    path = tempfile.mkstemp(".json")[1]
    seen = mine.Mine(path=None)
    with open(path, "w", encoding="utf-8") as file:
        begin = time.monotonic_ns() / 1000
        theirs = {"ph": "X", "name": "theirs", "cat": "gpu", "pid": 1, "tid": 1, "dur": 0.5}
        json.dump([{**theirs, "ts": begin + i} for i in range(5)], file)
    profiler = proftrace.profiler(trace_handlers=[seen])
    assert profiler.record_chrome_json_trace_file(path) == proftrace.is_recorded()
    assert seen.lines == {f"FILE {path} -": 1}, seen.lines
    print(f"handler FILE {path} -")
    count.saw("INSTANT", "include_json", "-", f'path=s:"{path}"')
    count.slice("theirs", "gpu", n=5)
    # The name of their thread.
    count.marks += 1


def schedules():
    """A callable decides what is recorded, and handlers are told of the moments of the run."""
    seen = mine.Mine(path=None)
    cyclic = cyclic_schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
    own = lambda state: ACTIVE if state.epoch == 1 else cyclic(state)
    scheduled_profiler = proftrace.profiler(schedule=own, trace_handlers=[seen])
    always = scheduled_profiler.marker("always")
    active = scheduled_profiler.marker("active", actions=[ACTIVE, ACTIVE_AND_SAVE])
    expected = [SKIP, SKIP, WARMUP, ACTIVE, ACTIVE_AND_SAVE, SKIP], [ACTIVE, ACTIVE]
    scheduled_profiler.init()
    for epoch, actions in enumerate(expected):
        scheduled_profiler.epoch_start()
        for batch, action in enumerate(actions):
            scheduled_profiler.batch_start()
            assert scheduled_profiler.action == action, (epoch, batch)
            with always, active:
                active.instant()
                active.counter({"batch": batch})
            scheduled_profiler.batch_end()
            expect_batch(epoch, batch, action)
        scheduled_profiler.epoch_end()
    scheduled_profiler.close()
    # Behind the batch that is to be saved.
    count.saw("INSTANT", "dump", "-", "epoch=n:0 batch=n:4")
    for moment, n in seen.lines.items():
        assert n == 1, moment
        print(f"handler {moment}")
    assert len(seen.lines) == 2 + 2 * 2 + 2 * 8, seen.lines


def expect_batch(epoch, batch, action):
    arguments = f"epoch=n:{epoch} batch=n:{batch}"
    count.saw("COUNTER", "step", f"epoch n:{epoch}")
    count.saw("COUNTER", "step", f"batch n:{batch}", marks=0)
    if action:
        count.slice("always", args=arguments)
    if action in (ACTIVE, ACTIVE_AND_SAVE):
        count.slice("active", args=arguments)
        count.saw("INSTANT", "active", args=arguments)
        count.saw("COUNTER", "active", f"batch n:{batch}")


def mxnet():
    """Of MXNet's profiler tutorial."""
    profiler.set_config(filename="profile_output.json", profile_all=True, profile_symbolic=True, profile_imperative=True,
                        profile_memory=True, profile_api=True, continuous_dump=True, dump_period=1.0, aggregate_stats=True,
                        gpu_memory_profile_filename_prefix="gpu", profile_process="worker")  # fmt: skip
    recorded = proftrace.is_recorded()
    for control in profiler.pause, profiler.resume, profiler.dump:
        assert control(profile_process="worker") == recorded
    count.saw("INSTANT", "pause", "-")
    count.saw("INSTANT", "resume", "-")
    count.saw("INSTANT", "dump", "-")
    if recorded:
        assert profiler.set_state("stop") and profiler.set_state("run", profile_process="worker")
    count.saw("INSTANT", "pause", "-")
    count.saw("INSTANT", "resume", "-")
    domain = profiler.Domain("PythonDomain")
    task = domain.new_task("task")
    frame = domain.new_frame("frame")
    event = profiler.Event("event")
    assert domain.new_counter("none", value=None).value == 0
    counter = domain.new_counter("counter", 5)
    marker = domain.new_marker("mark")
    task.start()
    event.start()
    for _ in range(3):
        frame.start()
        frame.stop()
    event.stop()
    task.stop()
    counter.set_value(7)
    counter.increment(delta=1)
    counter.decrement(2)
    counter.increment()
    counter.decrement(delta=1)
    counter += 10
    counter -= 0.5
    assert counter.value == 15.5
    for scope in "process", "global", "thread", "task", "marker":
        marker.mark(scope=scope)
    marker.mark("task")
    with profiler.scope("memory"), profiler.scope("inner", append_mode=True):
        pass
    count.slice("task", "PythonDomain")
    count.slice("event")
    for i in range(3):
        count.saw("ASYNC_BEGIN", "frame", "PythonDomain", f"frame=n:{i + 1}")
    count.saw("ASYNC_END", "frame", "PythonDomain", n=3)
    for value in "n:5", "n:7", "n:8", "n:6", "n:7", "n:6", "n:16", "d:15.5":
        count.saw("COUNTER", "counter", value)
    count.saw("INSTANT", "mark", "PythonDomain", n=6)
    count.marks += 4


def chainer():
    """Of docs.chainer.org. What is nested counts once."""

    @proftrace.function("add")
    def add(depth):
        return depth and add(depth - 1)

    with TimerHook() as hook:
        for _ in range(4):
            with proftrace.scope("train"):
                add(1)
    with proftrace.scope("after"):
        pass
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        hook.print_report(file=sys.stdout)
    summary = hook.summary()
    assert {name: row["occurrence"] for name, row in summary.items()} == {"train": 4, "add": 8}, summary
    assert [name for name, _ in hook.call_history] == ["add", "add", "train"] * 4
    assert summary["add"]["elapsed_time"] <= summary["train"]["elapsed_time"]
    own = sum(row["self_time"] for row in summary.values())
    assert abs(own - summary["train"]["elapsed_time"]) < 1e-7, summary
    assert abs(own - hook.total_time()) < 1e-9
    assert [line.split()[0] for line in report.getvalue().splitlines()] == ["FunctionName", "add", "train"]
    count.slice("add", n=8)
    count.slice("train", n=4)
    count.slice("after")


def check_tables():
    """Of what is recorded so far, in each order."""
    columns = {"total": "total_ns", "avg": "avg_ns", "min": "min_ns", "max": "max_ns", "count": "count"}
    for key, column in columns.items():
        for ascending in False, True:
            table = json.loads(profiler.dumps(reset=False, format="json", sort_by=key, ascending=ascending))
            values = [row[column] for row in table["slices"]]
            assert len(values) > 5 and values == sorted(values, reverse=not ascending), (key, ascending, values)
    assert "PythonDomain" in profiler.dumps(format="table", reset=True)
    with proftrace.scope("anew"):
        pass
    count.slice("anew", args="epoch=n:1 batch=n:1")
    names = [row["name"] for row in json.loads(profiler.dumps(format="json"))["slices"]]
    assert names == ["anew"], names


expect.wait_for_recorder()
for part in mxnet, chainer, composer, other_profiler, schedules:
    part()
if "table" in sys.argv:
    check_tables()
count.done()
assert not proftrace.problems(), proftrace.problems()
expect.tell()
