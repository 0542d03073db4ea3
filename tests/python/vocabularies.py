# SPDX-License-Identifier: BSD-2-Clause
"""vocabularies.py [wait] [table]: what users of Composer, MXNet and Chainer write, with the import changed."""

import io
import sys

import expect
import proftrace
from proftrace import ACTIVE, ACTIVE_AND_SAVE, WARMUP, TimerHook, cyclic_schedule
from proftrace import mxnet as profiler

count = expect.Count()


def composer():
    """Of docs.mosaicml.com: markers, alone and by a schedule."""
    composer_profiler = proftrace.profiler()
    marker = composer_profiler.marker(
        "foo",
        actions=(WARMUP, ACTIVE, ACTIVE_AND_SAVE),
        record_instant_on_start=False,
        record_instant_on_finish=True,
        categories=("io", "disk"),
    )
    assert composer_profiler.marker("foo") is marker

    @marker
    def decorated(depth):
        return depth and decorated(depth - 1)

    with marker:
        pass
    marker.start()
    marker.instant()
    marker.counter({"loss": 0.5, "lr": 2, "third": 3, "fourth": -4})
    marker.finish()
    assert decorated(2) == 0
    count.slice("foo", "default,io,disk", n=5)
    count.saw("INSTANT", "foo", "default,io,disk", n=6)
    # Three series for each mark.
    count.saw("COUNTER", "foo", "loss d:0.5", marks=2)
    for series in "lr n:2", "third n:3", "fourth n:-4":
        count.saw("COUNTER", "foo", series, marks=0)


def scheduled():
    scheduled_profiler = proftrace.profiler(schedule=cyclic_schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1))
    always = scheduled_profiler.marker("always")
    active = scheduled_profiler.marker("active", actions=[ACTIVE, ACTIVE_AND_SAVE])
    seen = []
    for batch in range(7):
        scheduled_profiler.batch_start()
        seen.append(scheduled_profiler.action)
        with always, active:
            active.instant()
            active.counter({"batch": batch})
        scheduled_profiler.batch_end()
    assert seen == [0, 0, WARMUP, ACTIVE, ACTIVE_AND_SAVE, 0, 0], seen
    for batch, action in enumerate(seen):
        arguments = f"epoch=n:0 batch=n:{batch}"
        count.saw("COUNTER", "step", f"epoch n:0")
        count.saw("COUNTER", "step", f"batch n:{batch}", marks=0)
        if action:
            count.slice("always", args=arguments)
        if action in (ACTIVE, ACTIVE_AND_SAVE):
            count.slice("active", args=arguments)
            count.saw("INSTANT", "active", args=arguments)
            count.saw("COUNTER", "active", f"batch n:{batch}")
    # Behind the batch that is to be saved.
    count.saw("INSTANT", "dump", "-", "epoch=n:0 batch=n:4")


def mxnet():
    """Of MXNet's profiler tutorial."""
    profiler.set_config(profile_all=True, aggregate_stats=True, continuous_dump=True, filename="profile_output.json")
    domain = profiler.Domain("PythonDomain")
    task = domain.new_task("task")
    frame = profiler.Frame(domain, "frame")
    event = profiler.Event("event")
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
    counter.increment()
    counter.decrement(2)
    counter += 10
    counter -= 0.5
    assert counter.value == 15.5
    for scope in "process", "global", "thread", "task", "marker":
        marker.mark(scope)
    marker.mark()
    with profiler.scope("memory"), profiler.scope("inner", append_mode=True):
        pass
    count.slice("task", "PythonDomain")
    count.slice("event")
    for i in range(3):
        count.saw("ASYNC_BEGIN", "frame", "PythonDomain", f"frame=n:{i + 1}")
    count.saw("ASYNC_END", "frame", "PythonDomain", n=3)
    for value in "n:5", "n:7", "n:8", "n:6", "n:16", "d:15.5":
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
    hook.print_report(file=report)
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


expect.wait_for_recorder()
for part in (mxnet, chainer, composer):
    part()
scheduled()
count.done()
assert not proftrace.problems(), proftrace.problems()
if "table" in sys.argv:
    for row in proftrace.dumps(format="json", sort_by="count", ascending=False), profiler.dumps(format="table"):
        print("dumps " + row.replace("\n", " ") if row else "nothing")
expect.tell()
