# SPDX-License-Identifier: BSD-2-Clause
"""What the extension module has, on systems without it and in subinterpreters: marks that do nothing.

Functions stay what they are, and counters count. problems() says that marks are left out.
"""

_left_out = 0


def _nothing(*args, **keywords):
    global _left_out
    _left_out += 1


def _false():
    return False


class _Ready:
    def __init__(self, value=None):
        self._value = value

    def __await__(self):
        return self._value
        yield


class Scope:
    def __init__(self, name=None, **args):
        _nothing()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def __aenter__(self):
        return _Ready(self)

    def __aexit__(self, *exception):
        return _Ready()

    def __call__(self, function):
        return function


Function = type("Function", (), {})
module_domains = {}


def trace_modules(cls):
    return cls.forward


def _scope(name=None, /, **args):
    return name if callable(name) else Scope(name)


class Domain:
    enabled = False

    def __init__(self, name):
        self.name = name

    scope = function = staticmethod(_scope)
    instant = begin = end = async_begin = async_end = counter = counters = staticmethod(_nothing)
    slice_at = instant_at = staticmethod(_nothing)

    def close(self):
        pass


default = Domain("default")


class Track:
    def __init__(self, name, outer=None):
        self.name = name

    def sync(self, ticks, time):
        pass


class Task:
    def __init__(self, domain, name):
        self.domain = domain
        self.name = name

    def start(self):
        _nothing()

    stop = start

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop()


class Frame(Task):
    pass


class Event(Task):
    def __init__(self, name):
        super().__init__(default, name)


class Gate:
    phase = 0


class Marker(Task):
    def __init__(self, domain, name, categories=None, instants=0, actions=0, gate=None):
        super().__init__(domain, name)

    def finish(self):
        _nothing()

    def instant(self, *args, **keywords):
        _nothing()

    mark = counter = instant

    def __call__(self, function):
        return function


class Counter:
    def __init__(self, domain, name, value=0):
        self.domain = domain
        self.name = name
        self.value = value or 0

    def set_value(self, value):
        self.value = value

    def increment(self, delta=1):
        self.value += delta

    def decrement(self, delta=1):
        self.value -= delta

    def __iadd__(self, delta):
        self.value += delta
        return self

    def __isub__(self, delta):
        self.value -= delta
        return self


flow_out = flow_in = step = memory_scope_push = memory_scope_pop = set_thread_name = _nothing
start_timer = stop_timer = strict = trace_awaitables_by = lambda argument: None
pause = resume = dump = stop = is_recorded = _false


def include_chrome_json(path):
    return False


def problems():
    return {"no extension module": _left_out}
