# SPDX-License-Identifier: BSD-2-Clause
"""PyTorch: the modules of a model as slices, without a change to the model."""

from . import _load

_native = _load.native


def trace(model, domain=None, name=None):
    """Make each call of `forward` of the model and of all modules within it a slice, and return the model.

    A slice is named after the module's place in the model (encoder.layers.0) and has the argument `module`, the name
    of its class. `forward` of each module is wrapped, in C: no hooks, which would disable fast paths of PyTorch.
    untrace() undoes it. A module that is traced already is left as it is.
    """
    domain = domain or _native.default
    root = name or type(model).__name__
    for path, module in model.named_modules():
        if isinstance(module.__dict__.get("forward"), _native.Function):
            continue
        slice_name = f"{root}.{path}" if path else root
        traced = domain.scope(slice_name, module=type(module).__name__)(module.forward)
        # Past __setattr__ of the module, which is for parameters and modules of its own.
        module.__dict__["forward"] = traced
    return model


def untrace(model):
    """Undo trace(), and return the model."""
    for module in model.modules():
        if isinstance(module.__dict__.get("forward"), _native.Function):
            del module.__dict__["forward"]
    return model
