# SPDX-License-Identifier: BSD-2-Clause
"""shares.py SECONDS: spends known shares of its CPU time in four functions, and says how much it really was.

Prints `share NAME SECONDS` and `line NAME FIRST LAST`, the lines of the function, for each.
"""
import sys
import threading
import time


def generates(until):
    n = 0
    while time.thread_time() < until:
        n += sum(i * i for i in range(200))
    return n


def calls_c(until):
    n = 0
    while time.thread_time() < until:
        n += len(str(12345 ** 40))
    return n


class Sorter:
    def sorts(self, until):
        n = 0
        while time.thread_time() < until:
            n = max(sorted(range(300), key=lambda x: -x))
        return n


def descends(until, depth=150):
    if depth:
        return descends(until, depth - 1)
    n = 0
    while time.thread_time() < until:
        n += 1
    return n


class Zähler:
    def läuft(self, until):
        n = 0
        while time.thread_time() < until:
            n += 1
        return n


FUNCTIONS = ((0.4, generates), (0.3, calls_c), (0.2, Sorter().sorts), (0.1, descends))


def lines(function):
    first = function.__code__.co_firstlineno
    last = max(line for _, _, line in function.__code__.co_lines() if line)
    return first, last


def main():
    total = float(sys.argv[1])
    begin = time.thread_time()
    until = begin
    for share, function in FUNCTIONS:
        until += share * total
        function(until)
        now = time.thread_time()
        name = function.__qualname__
        print("share", name, now - begin)
        print("line", name, *lines(function))
        begin = now
    thread = threading.Thread(target=lambda: Zähler().läuft(0.2))
    thread.start()
    thread.join()
    print("done", flush=True)


main()
