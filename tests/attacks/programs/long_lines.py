# SPDX-License-Identifier: BSD-2-Clause
# long_lines.py CHILDREN FUNCTIONS BYTES: forks children that share FUNCTIONS functions, each with a line table of BYTES bytes, most
# of it padding, and calls each function in each child.
import os
import sys
import time

SOURCE = """def f(functions, depth):
    if depth + 1 < len(functions):
        functions[depth + 1](functions, depth + 1)
    else:
        end = time.process_time() + 0.05
        while time.process_time() < end:
            pass
"""


def make(number, size):
    names = {"time": time}
    exec(compile(SOURCE, "f%d.py" % number, "exec"), names)
    function, code = names["f"], names["f"].__code__
    # Entries without a line. How many instructions they are for makes the table another one for each function.
    own = bytes(0x80 | 15 << 3 | number >> shift & 7 for shift in (0, 3, 6))
    table = code.co_linetable + own + bytes([0x80 | 15 << 3]) * size
    table = table[:size]
    function.__code__ = code.replace(co_linetable=table, co_name="n%d" % number)
    return function


def main():
    children, count, size = (int(text) for text in sys.argv[1:4])
    functions = [make(i, size) for i in range(count)]
    for _ in range(children):
        if os.fork() == 0:
            for begin in range(0, count, 50):
                functions[begin](functions[begin : begin + 50], 0)
            os._exit(0)
    for _ in range(children):
        os.wait()


main()
