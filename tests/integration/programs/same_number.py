# SPDX-License-Identifier: BSD-2-Clause
"""same_number.py SECONDS: runs two functions of other names in other files, one after the other, for which traces have the same number.

Their first lines were searched for. All of their instructions are in one line.
"""
import sys
import time

LINE = 4000000


def spins(until):
    while time.thread_time() < until:
        pass


def signed_varint(number):
    number = number << 1 if number >= 0 else -number << 1 | 1
    while number >= 64:
        yield number & 63 | 64
        number >>= 6
    yield number


def renamed(name, file, first):
    code = spins.__code__
    table, left, delta = b"", len(code.co_code) // 2, LINE - first
    while left:
        n = min(8, left)
        table += bytes([0x80 | 13 << 3 | n - 1, *signed_varint(delta)])
        left, delta = left - n, 0
    return type(spins)(code.replace(co_name=name, co_qualname=name, co_filename=file, co_firstlineno=first, co_linetable=table), globals())


seconds = float(sys.argv[1])
renamed("spins_a", "/a.py", 3735634)(time.thread_time() + seconds)
renamed("spins_b", "/b.py", 1118767)(time.thread_time() + seconds)
