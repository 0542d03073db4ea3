# SPDX-License-Identifier: BSD-2-Clause
"""model.py [wait] [backward]: trains a small model of PyTorch, and counts each module's forward by hooks of its own. TimerHook
measures as many.

With `backward`, so are the backward passes of those modules whose inputs have gradients. The hooks are made before proftrace.torch.trace(), which knows nothing of them. Prints what a trace must hold.
model.py copies: copies, TorchScript and what was saved compute the same with traced modules.
"""

import copy
import io
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../python"))

import torch

import expect
import proftrace
import proftrace.torch

nn = torch.nn
CALLS = {}
BACKWARD = {}


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        normed = self.norm(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.mlp(x)


class Twice(nn.Linear):
    """Calls the method of its class's base, which is that of other modules: one slice for each call."""

    def forward(self, x):
        return super().forward(super().forward(x))


class Model(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(3))
        self.encoder = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True)
        self.twice = Twice(width, width)
        self.last = nn.Linear(width, 4)
        self.also_last = self.last

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return self.also_last(self.twice(self.encoder(x)))


def count_by_hooks(model):
    for path, module in model.named_modules():
        CALLS[path] = [type(module).__name__, 0]

        def called(module, args, output, path=path):
            CALLS[path][1] += 1

        module.register_forward_hook(called)


def count_backward_by_hooks(model):
    """By hooks of PyTorch's own, which say of each input whether it has a gradient."""
    for path, module in model.named_modules():
        BACKWARD[path] = 0

        def called(module, inputs, outputs, path=path):
            BACKWARD[path] += any(gradient is not None for gradient in inputs)

        module.register_full_backward_hook(called)


def train(model, rounds):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(rounds):
        optimizer.zero_grad()
        model(torch.ones(2, 5, 8)).square().sum().backward()
        optimizer.step()


def expected(count):
    for path, (module, n) in CALLS.items():
        name = f"net.{path}" if path else "net"
        if n:
            count.slice(name, "models", args=f'module=s:"{module}"', n=n)
    for path, n in BACKWARD.items():
        if n:
            count.async_slice(f"net.{path} backward", "models", n=n)


def check_hook(hook):
    """It measures the modules, recorded or not."""
    summary = hook.summary()
    called = {f"net.{path}" if path else "net": n for path, (_, n) in CALLS.items() if n}
    assert {name: row["occurrence"] for name, row in summary.items()} == called, summary
    own = sum(row["self_time"] for row in summary.values())
    assert abs(own - summary["net"]["elapsed_time"]) < 1e-6, (own, summary["net"])


def state(model):
    return torch.cat([p.flatten() for p in model.parameters()])


def check_copies():
    """Copies of all kinds compute with what is their own."""
    model = proftrace.torch.trace(Model(), backward=True)
    plain = nn.Linear(2, 2)
    kept = proftrace.torch.trace(nn.Linear(2, 2))
    shallow = copy.copy(kept)
    shallow._parameters = {"weight": nn.Parameter(torch.zeros(2, 2)), "bias": nn.Parameter(torch.zeros(2))}
    assert not shallow(torch.ones(1, 2)).any(), "a shallow copy computes with the parameters of the original"
    replica = kept._replicate_for_data_parallel()
    assert replica.forward.__self__ is replica, "a replica calls the forward of the original"
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file)
    x = torch.ones(1, 5, 8)
    for module in model, loaded:
        module.eval()
    assert torch.equal(model(x), loaded(x)), "a model that was saved computes something else"
    scripted = torch.jit.script(nn.Sequential(kept, nn.ReLU()))
    assert torch.equal(scripted(torch.ones(1, 2)), kept(torch.ones(1, 2)).relu())
    assert torch.equal(torch.fx.symbolic_trace(kept)(torch.ones(1, 2)), kept(torch.ones(1, 2)))
    assert plain.forward(torch.ones(1, 2)).shape == (1, 2)
    proftrace.torch.untrace(kept)
    proftrace.torch.untrace(model)
    proftrace.torch.untrace(replica)
    assert isinstance(nn.Linear.__dict__["forward"], type(main)) and "forward" not in model.__dict__
    assert not any(module._forward_hooks for module in model.modules()), "a hook stays"
    assert not isinstance(nn.Linear.__dict__["forward"], proftrace.Function), "a class stays traced"
    print("copies compute the same")


def main():
    torch.manual_seed(1)
    untraced = Model()
    model = copy.deepcopy(untraced)
    count_by_hooks(model)
    backward = "backward" in sys.argv
    if backward:
        # In both, since they make another graph, which rounds differently.
        count_backward_by_hooks(model)
        count_backward_by_hooks(untraced)
    domain = proftrace.Domain("models")
    assert proftrace.torch.trace(model, domain, "net", backward) is model
    expect.wait_for_recorder()
    torch.manual_seed(2)
    with proftrace.TimerHook() as hook:
        train(model, 50)
    check_hook(hook)
    count = expect.Count()
    expected(count)
    count.done()
    assert not backward or sum(BACKWARD.values()) > 500
    assert sum(n for _, n in CALLS.values()) > 1000 and CALLS["twice"][1] == 50
    proftrace.torch.untrace(model)
    torch.manual_seed(2)
    train(untraced, 50)
    assert torch.equal(state(model), state(untraced)), "a model that was traced learns something else"
    assert not proftrace.problems(), proftrace.problems()
    expect.tell()


if "copies" in sys.argv:
    check_copies()
else:
    main()
