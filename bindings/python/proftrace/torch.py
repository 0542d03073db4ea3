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


class _Backward:
    """The backward pass of one call of a module: from the gradient of its output to those of all its inputs."""

    def __init__(self, domain, name, inputs):
        self.domain = domain
        self.name = name
        self.waiting = self.inputs = len(inputs)
        self.id = None
        for tensor in inputs:
            tensor.register_hook(self.end)

    def begin(self, gradient):
        if self.id is None:
            self.waiting = self.inputs
            self.id = id(self)
            self.domain.async_begin(self.name, self.id)

    def end(self, gradient):
        self.waiting -= 1
        if self.id is not None and self.waiting == 0:
            self.domain.async_end(self.name, self.id)
            self.id = None


def _tensors(value):
    """Those that have gradients, in what a module takes or returns."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if getattr(value, "requires_grad", False) and hasattr(value, "register_hook") else []


def _follow_backward(module, args, output):
    domain, name = module.__dict__.get("_proftrace", (None, None))
    domain = _native.module_domains.get(domain)
    if domain is None or not domain.enabled:
        return
    # Without an input that has a gradient, nobody is told of the end.
    inputs, outputs = _tensors(args), _tensors(output)
    if inputs and outputs:
        backward = _Backward(domain, f"{name} backward", inputs)
        for tensor in outputs:
            tensor.register_hook(backward.begin)


def trace(model, domain=None, name=None, backward=False):
    """Make each call of `forward` of the model and of all modules within it a slice, and return the model.

    A slice is named after the module's place in the model (encoder.layers.0) and has the argument `module`, the name
    of its class. `forward` is wrapped, in C, in the class of each module: no hooks, which would disable fast paths of
    PyTorch. Copies of a traced module, and replicas, are traced as well, and call their own `forward`; other modules of the
    class are not. untrace() undoes it. A module that is traced already is left as it is.

    With `backward`, each backward pass of a module is an asynchronous slice, "encoder.layers.0 backward", from the gradient
    of its output to those of its inputs. Modules whose inputs have no gradients, as the first ones of a model, have
    none. This takes a forward hook, so a forward costs some microseconds more, and TorchScript refuses the module.
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
            if backward:
                module.register_forward_hook(_follow_backward)
        elif hasattr(module, "forward"):
            # A method of the object alone, or one that is no function, as of modules in TorchScript.
            traced = domain.scope(slice_name, module=type(module).__name__)(module.forward)
            module.__dict__["forward"] = traced
    return model


def untrace(model):
    """Undo trace(), and return the model."""
    for module in model.modules():
        if module.__dict__.pop("_proftrace", None):
            hooks = module.__dict__.get("_forward_hooks", {})
            for key in [key for key, hook in hooks.items() if hook is _follow_backward]:
                del hooks[key]
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
