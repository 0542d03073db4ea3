# SPDX-License-Identifier: BSD-2-Clause
"""marks.py THREADS ROUNDS TASKS TURNS [wait]: every kind of mark, on threads and in asyncio tasks."""

import asyncio
import sys
import threading
import time

import expect
import proftrace

net = proftrace.Domain("net")


@proftrace.function
def decorated(n):
    return n + 1


@net.scope("received", within="outer")
def receive(*, size):
    return size


def generator(n):
    for i in range(n):
        yield i


traced_generator = proftrace.function(generator)


outer_track = proftrace.track("device")
track = proftrace.track("queue", outer_track)
clocked = proftrace.track("clocked/queue")


def give(count, i):
    """Slices with times of their own."""
    now = time.monotonic_ns()
    proftrace.slice_at("given", now, now + 1000, track, i=i % 3)
    net.slice_at("alone", now - 5, now)
    proftrace.instant_at("at", now, outer_track, a=1, b=2, c="x")
    count.saw("SLICE_AT", "given", args=f'on="device/queue" i=n:{i % 3}')
    count.saw("SLICE_AT", "alone", "net", args='on=""')
    # More than one argument takes another mark for each two.
    count.saw("INSTANT_AT", "at", args='on="device" a=n:1 b=n:2 c=s:"x"', marks=3)


def ticks(n):
    """In ticks of a clock that counts ten in a ns. Each reading of it is a mark with the slice that follows."""
    count = expect.Count()
    for _ in range(n):
        now = time.monotonic_ns()
        clocked.sync(now * 10, now)
        proftrace.slice_at("ticks", now * 10, now * 10 + 100, clocked)
        count.saw("SLICE_AT", "ticks", args='on="clocked/queue"', marks=2)
    count.done()


def work(number, rounds):
    count = expect.Count()
    proftrace.thread_name(f"worker {number}")
    count.marks += 1
    for i in range(rounds):
        with proftrace.scope("outer", i=i % 10, half=0.5, text='naïve text', yes=True):
            with proftrace.scope("inner", within="outer"):
                proftrace.instant("moment", i=i % 3)
            proftrace.begin("begun", within="outer")
            proftrace.end(result=i % 2)
            receive(size=i)
        if decorated(i) != i + 1:
            raise SystemExit("a decorated function returns something else")
        proftrace.counter("value", i % 5)
        proftrace.counter("train", {"loss": 0.25, "lr": i % 2})
        if i % 10 == 0:
            give(count, i)
    for i in range(10):
        n = len(range(i, rounds, 10))
        count.slice("outer", args=f'i=n:{i} half=d:0.5 text=s:"naïve text" yes=b:true', n=n)
    # More than three arguments take another mark for each two.
    count.marks += rounds
    count.slice("inner", args='within=s:"outer"', n=rounds)
    count.slice("begun", args='within=s:"outer"', n=rounds)
    count.slice("received", "net", args='within=s:"outer"', n=rounds)
    count.slice(decorated.__qualname__, n=rounds)
    for i in range(3):
        count.saw("INSTANT", "moment", args=f"i=n:{i}", n=len(range(i, rounds, 3)))
    for i in range(5):
        count.saw("COUNTER", "value", "n:" + str(i), n=len(range(i, rounds, 5)))
    count.saw("COUNTER", "train", "loss d:0.25", n=rounds)
    for i in range(2):
        count.saw("COUNTER", "train", f"lr n:{i}", n=len(range(i, rounds, 2)), marks=0)
    count.done(f"worker {number}")


@proftrace.function
async def coroutine(turn):
    await asyncio.sleep(0)
    return turn


async def task(number, turns):
    count = expect.Count()
    for turn in range(turns):
        async with proftrace.scope("request", number=number % 7) as scope:
            if not isinstance(scope, proftrace.Scope):
                raise SystemExit("a scope is entered as something else")
            if await coroutine(turn) != turn:
                raise SystemExit("a decorated coroutine function returns something else")
        with net.scope("sync"):
            pass
    if list(traced_generator(3)) != [0, 1, 2]:
        raise SystemExit("a decorated generator yields something else")
    count.saw("ASYNC_BEGIN", "request", args=f"number=n:{number % 7}", n=turns)
    count.saw("ASYNC_END", "request", n=turns)
    count.async_slice("coroutine", n=turns)
    count.async_slice("generator")
    count.slice("sync", "net", n=turns)
    count.done()


async def tasks(n, turns):
    await asyncio.gather(*(task(i, turns) for i in range(n)))


def main():
    n_threads, rounds, n_tasks, turns = map(int, sys.argv[1:5])
    expect.wait_for_recorder()
    ticks(20)
    threads = [threading.Thread(target=work, args=(n, rounds)) for n in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(tasks(n_tasks, turns))
    if proftrace.problems():
        raise SystemExit(f"problems: {proftrace.problems()}")
    expect.tell()


main()
