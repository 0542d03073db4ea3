# SPDX-License-Identifier: BSD-2-Clause
"""roles.py [wait]: a worker and a server, which is another process of the same recording. The worker pauses, resumes
and dumps the server by its role and by its PID, and itself, and both mark all the while.
"""

import os
import subprocess
import sys

import expect
import proftrace
from proftrace import mxnet as profiler

ROUND = 20


def mark(name):
    for i in range(ROUND):
        with proftrace.scope(name, i=i):
            proftrace.counter(f"{name} counter", i)


def serve():
    """Marks under each name that it is told, and says so; "fork NAME": in a child."""
    print(os.getpid(), flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "fork":
            child = os.fork()
            if not child:
                mark(words[1])
                os._exit(0)
            os.waitpid(child, 0)
        else:
            mark(words[0])
        print("done", flush=True)


class Server:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "serve"],
            env={**os.environ, "DMLC_ROLE": "server"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = int(self.process.stdout.readline())

    def mark(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait() == 0


def ctl(action, pid):
    command = [os.environ["PROFTRACE"], "ctl", action, "--only", str(pid)]
    return not subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def main():
    count = expect.Count()
    paused = 0

    def both(name, server_recorded=True, worker_recorded=True, words="{}"):
        nonlocal paused
        mark(f"w{name}")
        server.mark(words.format(f"s{name}"))
        for who, is_recorded in (("w", worker_recorded), ("s", server_recorded)):
            for i in range(ROUND):
                if is_recorded:
                    count.slice(f"{who}{name}", args=f"i=n:{i}")
                    count.saw("COUNTER", f"{who}{name} counter", f"n:{i}")
                else:
                    paused += 3

    def said(result, wanted=True):
        assert result is wanted, result

    expect.wait_for_recorder()
    server = Server()
    both("1")
    said(profiler.pause(profile_process="server"))
    both("2", server_recorded=False)
    both("3", server_recorded=False, words="fork {}")
    said(profiler.resume(profile_process="server"))
    both("4")
    both("5", words="fork {}")
    said(profiler.set_state("stop", profile_process="server"))
    both("6", server_recorded=False)
    said(profiler.set_state("run", profile_process="server"))
    said(profiler.pause())
    both("7", worker_recorded=False)
    said(profiler.resume())
    said(ctl("pause", server.pid))
    both("8", server_recorded=False)
    # The later word counts, whoever says it.
    said(ctl("pause", os.getpid()))
    both("9", server_recorded=False, worker_recorded=False)
    said(profiler.resume())
    said(ctl("resume", server.pid))
    both("10")
    said(profiler.dump(profile_process="server"))
    said(profiler.pause(profile_process="nobody"), False)
    said(profiler.dump(profile_process="nobody"), False)
    said(profiler.resume(profile_process="no role"), False)
    said(ctl("pause", 1), False)
    server.stop()
    # Only what the worker says of itself is a mark.
    count.saw("INSTANT", "pause", "-", n=5, marks=1)
    count.saw("INSTANT", "resume", "-", n=5, marks=2)
    count.done()
    expect.tell()
    print(f"paused {paused}")


serve() if "serve" in sys.argv else main()
