# SPDX-License-Identifier: BSD-2-Clause
"""modules.py torch|standin [wait]: proftrace.torch.trace() makes slices of a tree of modules, and changes nothing else.

The stand-in has what of torch.nn.Module matters here: modules within modules, each called by its `forward`.
"""

import copy
import pickle
import sys

import expect
import proftrace
import proftrace.torch

if sys.argv[1] == "torch":
    import torch

    Module = torch.nn.Module
else:

    class Module:
        def __init__(self):
            self.__dict__["_modules"] = {}

        def __setattr__(self, name, value):
            (self._modules if isinstance(value, Module) else self.__dict__)[name] = value

        def __getattr__(self, name):
            try:
                return self.__dict__["_modules"][name]
            except KeyError:
                raise AttributeError(name) from None

        def __call__(self, *args):
            return self.forward(*args)

        def named_modules(self, prefix=""):
            yield prefix, self
            for name, module in self._modules.items():
                yield from module.named_modules(f"{prefix}.{name}" if prefix else name)

        def modules(self):
            return (module for _, module in self.named_modules())


class Leaf(Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


class Tree(Module):
    def __init__(self):
        super().__init__()
        self.left = Leaf(2)
        self.right = Leaf(3)

    def forward(self, x):
        return self.left(x) + self.right(x)


class Model(Module):
    def __init__(self):
        super().__init__()
        self.tree = Tree()

    def forward(self, x):
        return self.tree(x) + 1


def main():
    model = Model()
    count = expect.Count()
    expect.wait_for_recorder()
    assert model(1) == 6
    assert proftrace.torch.trace(model) is model
    proftrace.torch.trace(model)
    for i in range(10):
        assert model(i) == 5 * i + 1
    count.slice("Model", args='module=s:"Model"', n=10)
    count.slice("Model.tree", args='module=s:"Tree"', n=10)
    count.slice("Model.tree.left", args='module=s:"Leaf"', n=10)
    count.slice("Model.tree.right", args='module=s:"Leaf"', n=10)
    # The modules of a copy are its own, and traced as well.
    other = copy.deepcopy(model)
    other.tree.left.factor = 10
    assert (model(1), other(1)) == (6, 14)
    for name, module in ("", "Model"), (".tree", "Tree"), (".tree.left", "Leaf"), (".tree.right", "Leaf"):
        count.slice("Model" + name, args=f'module=s:"{module}"', n=2)
    # So are those of a shallow copy.
    leaf = copy.copy(model.tree.left)
    leaf.factor = 30
    assert (leaf(1), model.tree.left(1)) == (30, 2)
    count.slice("Model.tree.left", args='module=s:"Leaf"', n=2)
    # One that was saved calls its own, untraced or not.
    other.tree.left.factor = 20
    saved = pickle.loads(pickle.dumps(other))
    proftrace.torch.untrace(saved)
    assert saved(1) == 24
    proftrace.torch.untrace(model)
    assert model(1) == 6 and "forward" not in model.__dict__
    count.done()
    assert not proftrace.problems(), proftrace.problems()
    expect.tell()


main()
