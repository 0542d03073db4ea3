# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch: the modules of a model as slices, without a change to the model."""

import types
import weakref

from . import _load

_native = _load.native

# The modules that trace() was asked for, by their class, whose method `forward` is a traced one as long as there are any.
_traced = {}


def _trace_class(cls):
    if cls not in _traced:
        _traced[cls] = weakref.WeakSet()
        inherited = "forward" not in cls.__dict__
        cls.forward = _native.trace_modules(cls)
        _traced[cls].inherited = inherited
    return _traced[cls]


def _untrace_class(cls):
    modules = _traced.get(cls)
    if modules is None or modules or not isinstance(cls.__dict__.get("forward"), _native.Function):
        return
    if modules.inherited:
        del cls.forward
    else:
        cls.forward = cls.__dict__["forward"].__wrapped__
    del _traced[cls]


def trace(model, domain=None, name=None):
    """Make each call of `forward` of the model and of all modules within it a slice, and return the model.

    A slice is named after the module's place in the model (encoder.layers.0) and has the argument `module`, the name
    of its class. `forward` is wrapped, in C, in the class of each module: no hooks, which would disable fast paths of
    PyTorch. Copies of a traced module, and replicas, are traced as well, and call their own `forward`; other modules of the
    class are not. untrace() undoes it. A module that is traced already is left as it is.
    """
    domain = domain or _native.default
    _native.module_domains[domain.name] = domain
    root = name or type(model).__name__
    for path, module in model.named_modules():
        if "_proftrace" in module.__dict__ or isinstance(module.__dict__.get("forward"), _native.Function):
            continue
        slice_name = f"{root}.{path}" if path else root
        # Past __setattr__ of the module, which is for parameters and modules of its own.
        if "forward" not in module.__dict__ and isinstance(getattr(type(module), "forward", None), types.FunctionType):
            _trace_class(type(module)).add(module)
            module.__dict__["_proftrace"] = (domain.name, slice_name)
        elif hasattr(module, "forward"):
            # A method of the object alone, or one that is no function, as of modules in TorchScript.
            traced = domain.scope(slice_name, module=type(module).__name__)(module.forward)
            module.__dict__["forward"] = traced
    return model


def untrace(model):
    """Undo trace(), and return the model."""
    for module in model.modules():
        if module.__dict__.pop("_proftrace", None):
            cls = type(module)
            if cls in _traced:
                _traced[cls].discard(module)
                _untrace_class(cls)
        forward = module.__dict__.get("forward")
        if isinstance(forward, _native.Function):
            wrapped = forward.__wrapped__
            if getattr(wrapped, "__self__", None) is module and hasattr(type(module), "forward"):
                del module.__dict__["forward"]
            else:
                module.__dict__["forward"] = wrapped
    return model
