# SPDX-License-Identifier: BSD-2-Clause
"""MXNet's profiler: `from proftrace import mxnet as profiler` in place of `from mxnet import profiler`.

set_state('run') starts a recording of this process where the user may, to the file of set_config(); while somebody
else records, it resumes that one. What cannot be done is said by the value that a function returns, False or "",
and never by an exception. profile_process='worker' is this process. 'server' is the other processes of a distributed
job that were started with DMLC_ROLE=server and are recorded on this machine; any other role works the same way.
"""

from . import _load
from ._recording import control as _control
from ._recording import dumps
from ._recording import record as _record

_native = _load.native
_config = {"filename": "profile.json"}
_recording = None

_CONFIG = frozenset(
    "filename profile_all profile_symbolic profile_imperative profile_memory profile_api continuous_dump dump_period "
    "aggregate_stats gpu_memory_profile_filename_prefix profile_process contiguous_dump".split()
)


def set_config(**config):
    """filename: what set_state('run') writes; dump_period: seconds. The other names of MXNet are accepted."""
    unknown = set(config) - _CONFIG
    if unknown:
        raise TypeError(f"set_config() got an unexpected keyword argument {min(unknown)!r}")
    if config.pop("profile_process", "worker") == "worker":
        _config.update(config)


def set_state(state="stop", profile_process="worker"):
    """'run' or 'stop'. False: it is not recorded."""
    global _recording
    if state not in ("run", "stop"):
        raise ValueError(f"the state is 'run' or 'stop', not {state!r}")
    if profile_process != "worker":
        return _control("pause" if state == "stop" else "resume", profile_process)
    if state == "stop":
        return _native.pause()
    if _native.is_recorded():
        return _native.resume()
    options = ["--dump-period", f"{_config['dump_period']}s"] if _config.get("dump_period") else []
    _recording = _record(_config["filename"], *options)
    return bool(_recording)


def pause(profile_process="worker"):
    """Record nothing until resume(). False: nobody records."""
    return _native.pause() if profile_process == "worker" else _control("pause", profile_process)


def resume(profile_process="worker"):
    """Record again. False: nobody records."""
    return _native.resume() if profile_process == "worker" else _control("resume", profile_process)


def dump(finished=True, profile_process="worker"):
    """Have the files written; `finished` also ends the recording that set_state() began. False: nobody records."""
    global _recording
    if profile_process != "worker":
        return _control("dump", profile_process)
    if finished and _recording:
        stopped, _recording = _recording.stop(), None
        return stopped
    return _native.dump()


class Domain(_native.Domain):
    """A group of tasks, frames, counters and markers."""

    def __repr__(self):
        return self.name

    def new_task(self, name):
        """A Task of this domain."""
        return Task(self, name)

    def new_frame(self, name):
        """A Frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name, value=None):
        """A Counter of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name):
        """A Marker of this domain."""
        return Marker(self, name)


Task = _native.Task
Frame = _native.Frame
Event = _native.Event


class Counter(_native.Counter):
    """A number, each change of which is recorded."""

    def __new__(cls, domain, name, value=None):
        self = super().__new__(cls, domain, name, value)
        if value is not None:
            self.set_value(value)
        return self


class Marker(_native.Marker):
    """A moment: mark(scope) of the 'process', 'global', 'thread', 'task' or 'marker'."""

    def __new__(cls, domain, name):
        return super().__new__(cls, domain, name)


class scope:
    """Memory that is allocated within it belongs to the pool "name:pool", within another scope "outer/name:pool".

    append_mode is accepted: scopes always nest.
    """

    def __init__(self, name="<unk>:", append_mode=True):
        self._name = name
        self._append_mode = append_mode

    def __enter__(self):
        _native.memory_scope_push(self._name)
        return self

    def __exit__(self, *exception):
        _native.memory_scope_pop()


def profiler_set_config(mode="symbolic", filename="profile.json"):
    """Deprecated in MXNet: set_config()."""
    set_config(filename=filename, profile_symbolic=mode == "symbolic", profile_all=mode == "all")


profiler_set_state = set_state
dump_profile = dump

# help() shows these, wherever they are defined.
__all__ = [_name for _name in dir() if not _name.startswith("_")]
