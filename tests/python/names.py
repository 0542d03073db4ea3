# SPDX-License-Identifier: BSD-2-Clause
"""names.py: the type stubs, and what stands in for the extension module, have the names that the module has. Each name
that users see has a docstring, and help() shows it.
"""

import ast
import inspect
import os
import pydoc

import proftrace
import proftrace.mxnet
import proftrace.torch
from proftrace import _native, _without


def stub_names():
    """Of the module, and of each of its classes with those of its bases."""
    path = os.path.join(os.path.dirname(_native.__file__), "_native.pyi")
    names = {}
    for node in ast.parse(open(path, encoding="utf-8").read()).body:
        if isinstance(node, ast.ClassDef):
            inherited = [name for base in node.bases for name in names[base.id]]
            own = [n.target.id if isinstance(n, ast.AnnAssign) else n.name for n in node.body]
            names[node.name] = {*inherited, *own}
        elif isinstance(node, ast.FunctionDef):
            names[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            names[node.target.id] = None
    return names


def members(cls):
    """Those of the class itself, without what every object has."""
    return {name for name in dir(cls) if name not in (*dir(object), "__module__")}


def check_stubs():
    stubs = stub_names()
    ours = {name for name in dir(_native) if not name.startswith("__")} - {"trace_modules", "module_domains"}
    assert ours == {name for name in stubs if not name.startswith("_")}, ours ^ set(stubs)
    assert set(dir(_native)) - set(dir(_without)) <= {"__file__"}, set(dir(_native)) - set(dir(_without))
    for name in ours:
        cls = getattr(_native, name)
        # A Function has what the function has that it wraps.
        if not inspect.isclass(cls) or name == "Function":
            continue
        stub = {member for member in stubs[name] if member not in dir(object)}
        assert members(cls) == stub, (name, members(cls) ^ stub)
        left = {m for m in stub if not hasattr(getattr(_without, name), m)} - {"name", "domain", "value"}
        assert not left, (name, left)


def check_help():
    for module in proftrace, proftrace.mxnet, proftrace.torch:
        text = pydoc.plain(pydoc.render_doc(module))
        for name, thing in vars(module).items():
            if name.startswith("_") or inspect.ismodule(thing) or not callable(thing):
                continue
            doc = inspect.getdoc(thing)
            assert doc, f"{module.__name__}.{name} has no docstring"
            assert name in text, name


check_stubs()
check_help()
print("all is well")
