# SPDX-License-Identifier: BSD-2-Clause
"""processes.py fork|spawn PROCESSES ROUNDS [wait]: children of multiprocessing mark, and tell their parent what."""

import multiprocessing
import sys

import expect
import proftrace


@proftrace.function
def work(number, rounds, queue):
    """Also a target of spawn, which finds it by its name."""
    count = expect.Count()
    proftrace.thread_name(f"child {number}")
    count.marks += 1
    for i in range(rounds):
        with proftrace.scope("job", number=number):
            proftrace.counter("done", i % 2)
    count.slice("job", args=f"number=n:{number}", n=rounds)
    for i in range(2):
        count.saw("COUNTER", "done", f"n:{i}", n=len(range(i, rounds, 2)))
    count.slice("work")
    count.done()
    queue.put(expect.told())


def main():
    method, n, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    count = expect.Count()
    expect.wait_for_recorder()
    with proftrace.scope("parent"):
        children = [context.Process(target=work, args=(i, rounds, queue)) for i in range(n)]
        for child in children:
            child.start()
        told = [queue.get() for _ in children]
        for child in children:
            child.join()
            if child.exitcode:
                raise SystemExit(f"a child ended with {child.exitcode}")
    count.slice("parent")
    count.done()
    for text in told:
        expect.merged(text)
    expect.tell()


if __name__ == "__main__":
    main()
