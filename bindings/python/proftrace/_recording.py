# SPDX-License-Identifier: BSD-2-Clause
"""Recordings of this process: started by it, where the user may, and asked for their table."""

import os
import shutil
import signal
import subprocess
import threading

from . import _load

_native = _load.native
_MARKERS = ("proftrace: recording,",)


def _program():
    """The command proftrace: $PROFTRACE, or the one in $PATH; None if there is none."""
    return os.environ.get("PROFTRACE") or shutil.which("proftrace")


def control(action, role):
    """`action` "pause", "resume" or "dump" for the processes of this role, in the recording of this process, or else
    in the only one that is running. A role is what PROFTRACE_ROLE, or else DMLC_ROLE, is in the environment with which
    a process was started. False: there is no such process.
    """
    program = _program()
    if not program:
        return False
    command = [program, "ctl", action, "--role", str(role)]
    if _native.is_recorded():
        command += ["-p", str(os.getpid())]
    return _run(command) is not None


def _run(command):
    """What a command prints, or None if it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    except (OSError, ValueError):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def dumps(reset=False, format="table", sort_by="total", ascending=False, limit=None):
    """The table of the recording of this process so far, as a string; "" if nobody records it.

    format: "table", "json" or "csv". sort_by: "total", "self", "avg", "min", "max", "count", "name" and the other
    columns of `proftrace report`. With reset, the table begins anew.
    """
    program = _program()
    if not program:
        return ""
    command = [program, "ctl", "stats", "-p", str(os.getpid()), "--format", str(format), "--sort", str(sort_by)]
    if ascending:
        command.append("--ascending")
    if reset:
        command.append("--reset")
    if limit:
        command += ["-n", str(limit)]
    return _run(command) or ""


class Recording:
    """A recording of this process that it started itself. False, with `error`, if it could not be started.

        with proftrace.record("trace") as recording:
            train()
    """

    def __init__(self, command):
        self.error = ""
        self._said = []
        self._ready = threading.Event()
        self._process = None
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
        except OSError as error:
            self.error = f"cannot start {command[0]}: {error.strerror}"
            return
        self._reader = threading.Thread(target=self._read, name="proftrace", daemon=True)
        self._reader.start()
        self._ready.wait()
        if not self:
            self._process.wait()
            self.error = "".join(self._said).strip() or f"{command[0]} ended"

    def _read(self):
        for line in self._process.stderr:
            self._said.append(line)
            if line.startswith(_MARKERS):
                self._started = True
                self._ready.set()
        self._ready.set()

    _started = False

    def __bool__(self):
        return self._started and self._process.poll() is None

    @property
    def summary(self):
        """What the recorder printed so far: after stop() files, accounting and table."""
        return "".join(self._said)

    def stop(self):
        """End the recording and wait until the files are finished. False: it had not been recording."""
        recorded = bool(self)
        if recorded:
            self._process.send_signal(signal.SIGINT)
        if self._process:
            self._process.wait()
            self._reader.join()
        return recorded

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()


def record(output="trace", *options):
    """Record this process, all marks of all threads, where the user may do that.

    output: as of `proftrace -o`; options: others of `proftrace record`. Returns when recording has begun, or with a
    Recording that is False.
    """
    program = _program() or "proftrace"
    return Recording([program, "record", "-p", str(os.getpid()), "-o", str(output), *map(str, options)])
