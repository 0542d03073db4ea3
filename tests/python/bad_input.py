# SPDX-License-Identifier: BSD-2-Clause
"""bad_input.py [wait]: what is no mark is left out and counted; it raises an exception only if asked for, and ends
no program. Marks in the last moments of the interpreter, in a thread that outlives it and in a subinterpreter."""

import atexit
import copy
import inspect
import pickle
import sys
import threading
import time
import weakref

import expect
import proftrace


class Raises:
    def __str__(self):
        raise ValueError("no text")

    def __index__(self):
        raise ValueError("no integer")


domain = proftrace.Domain("closing")
task = proftrace.Task(domain, "task")
marker = proftrace.profiler().marker("marker")
kept = proftrace.scope("kept")

BAD = [
    lambda: proftrace.instant(5),
    lambda: proftrace.instant(),
    lambda: proftrace.instant("name", "nowhere"),
    lambda: proftrace.instant("name", "thread", "more"),
    lambda: proftrace.instant("name", a=Raises()),
    lambda: proftrace.instant("name", **{f"key{i}": i for i in range(40)}),
    lambda: proftrace.scope(b"bytes").__enter__(),
    lambda: proftrace.scope().__enter__(),
    lambda: proftrace.begin(None),
    lambda: proftrace.end("name"),
    lambda: proftrace.async_begin("name"),
    lambda: proftrace.async_begin("name", "id"),
    lambda: proftrace.counter("name", "text"),
    lambda: proftrace.counter("name", Raises()),
    lambda: proftrace.counter("name", {5: 1}),
    lambda: proftrace.counter("name", 10**400),
    lambda: proftrace.counter("name"),
    lambda: proftrace.counter(None, {}),
    lambda: proftrace.step("one", 2),
    lambda: proftrace.step(2**64, 2),
    lambda: proftrace.step(1),
    lambda: proftrace.flow_out(None),
    lambda: proftrace.flow_in(1.5),
    lambda: proftrace.thread_name(b"bytes"),
    lambda: proftrace.Domain(7).instant("name"),
    lambda: proftrace.Task("no domain", "name").start(),
    lambda: proftrace.Task(domain, None).start(),
    lambda: proftrace.Counter(domain, "name").increment("one"),
    lambda: proftrace.Counter(domain, "name").set_value(None),
    lambda: marker.counter(5),
    lambda: marker.mark("nowhere"),
    lambda: proftrace.function(5)(lambda: None)(),
    lambda: proftrace.slice_at("name", 1),
    lambda: proftrace.slice_at("name", 1.5, 2),
    lambda: proftrace.slice_at("name", 1, -2),
    lambda: proftrace.slice_at("name", 1, 2, "track"),
    lambda: proftrace.instant_at("name"),
    lambda: proftrace.instant_at(5, 1),
    lambda: proftrace.track(5),
    lambda: proftrace.track("name", "outer"),
    lambda: proftrace.track("name").sync(1),
]
GOOD = [
    lambda: proftrace.instant("halves of \udc80 surrogates", a="\udcff"),
    lambda: proftrace.instant("a" * 10000, b="b" * 10000),
    lambda: proftrace.instant("nul\0in the middle"),
    lambda: proftrace.instant(""),
    lambda: proftrace.instant("big", a=2**64 - 1, b=-(2**63), c=2**200, d=None, e=1e300, f=float("nan"), g=[1]),
    lambda: proftrace.counter("big", 2**64 - 1),
    lambda: proftrace.counter("none", {}),
    lambda: proftrace.async_begin("name", 2**70),
    lambda: proftrace.slice_at("name", 2, 1, proftrace.track("a/b/c", None)),
    lambda: proftrace.track("name").sync(2**64 - 1, 1),
    lambda: proftrace.async_end("name", 2**70),
    lambda: proftrace.end(),
    lambda: task.stop(),
    lambda: marker.finish(),
    lambda: kept.__exit__(None, None, None),
]


def problems():
    return sum(proftrace.problems().values())


def attempt(lambdas):
    """Each once; how many of them were counted, and how many raised."""
    counted = raised = 0
    for call in lambdas:
        before = problems()
        try:
            call()
        except (TypeError, RuntimeError):
            raised += 1
        counted += problems() > before
    return counted, raised


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit(f"{what}: {got}, not {wanted}")


def check_strictness():
    # What is bad is looked at while somebody records, or with strict().
    _, raised = attempt(BAD)
    check("bad input raises", raised, 0)
    proftrace.strict(True)
    check("bad input with strict(True)", attempt(BAD), (len(BAD), len(BAD)))
    check("good input with strict(True)", attempt(GOOD), (0, 0))
    proftrace.strict(False)
    if proftrace.enabled():
        check("bad input while recorded", attempt(BAD), (len(BAD), 0))
    check("good input", attempt(GOOD), (0, 0))


def check_closed_domain():
    domain.close()
    before = proftrace.problems().get("closed", 0)
    with domain.scope("closed"):
        domain.instant("closed")
        task.start()
        task.stop()
    check("marks of a closed domain", proftrace.problems()["closed"] - before, 4)


def check_functions():
    @proftrace.function
    def raises():
        raise KeyError("its own")

    class Thing:
        def __init__(self):
            self.number = 1

        def get(self):
            return self.number

    class Methods:
        @proftrace.function
        @staticmethod
        def static(x):
            return x

        @proftrace.scope("class")
        @classmethod
        def of_class(cls):
            return cls

        @classmethod
        @marker
        def marked(cls):
            return cls

    check("methods", (Methods().static(3), Methods.static(4)), (3, 4))
    check("class methods", (Methods().of_class(), Methods.marked()), (Methods, Methods))
    check("a class", proftrace.function(Methods), Methods)
    check("a coroutine function", inspect.iscoroutinefunction(coroutine_function), True)
    check("a function", inspect.isfunction(coroutine_function), True)
    check("its signature", str(inspect.signature(coroutine_function)), "(a, b=2)")
    check("a weak reference", weakref.ref(raises)(), raises)
    try:
        raises()
        raise SystemExit("an exception is gone")
    except KeyError:
        pass
    thing = Thing()
    thing.traced = proftrace.function(thing.get)
    other = copy.deepcopy(thing)
    other.number = 2
    check("the method of a copy", (thing.traced(), other.traced()), (1, 2))
    check("a pickled function", pickle.loads(pickle.dumps(at_module_level)), at_module_level)
    before = sys.getrefcount(None)
    for _ in range(10000):
        attempt([GOOD[0]])
        at_module_level()
    if abs(sys.getrefcount(None) - before) > 1000 and sys.version_info < (3, 12):
        raise SystemExit("references are lost")


@proftrace.function
def at_module_level():
    with proftrace.scope("within", a=1):
        return 5


def create_interpreters(interpreters):
    """Of each kind: with a lock of its own, and with that of the main interpreter. Versions of Python differ in how."""
    for args, keywords in (("isolated",), {}), (("legacy",), {}), ((), {"isolated": True}), ((), {"isolated": False}):
        try:
            yield interpreters.create(*args, **keywords)
        except TypeError:
            pass


def check_subinterpreters():
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            return
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
import proftrace
with proftrace.scope("name"):
    proftrace.instant("name")
@proftrace.function
def f(): return 5
assert f() == 5
assert proftrace.problems()["no extension module"] >= 2
"""
    made = 0
    for interpreter in create_interpreters(interpreters):
        failure = interpreters.run_string(interpreter, program)
        check("a subinterpreter", failure, None)
        interpreters.destroy(interpreter)
        proftrace.instant("after")
        made += 1
    check("subinterpreters", made, 2)


@proftrace.function
async def coroutine_function(a, b=2):
    pass


class Last:
    """Marks when the modules are taken apart."""

    marks = (proftrace.instant, proftrace.scope, proftrace.default, marker)

    def __del__(self):
        instant, scope, default, last = self.marks
        instant("last", a=1)
        with scope("last"), last:
            default.counter("last", 1)


def mark_for_ever():
    while True:
        with proftrace.scope("daemon"):
            time.sleep(0)


expect.wait_for_recorder()
check_strictness()
check_functions()
check_closed_domain()
check_subinterpreters()
atexit.register(lambda: proftrace.instant("at exit"))
sys.modules["kept to the end"] = Last()
last = Last()
threading.Thread(target=mark_for_ever, daemon=True).start()
print("all is well", flush=True)
