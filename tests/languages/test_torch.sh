#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Modules of PyTorch as slices: each module's forward, and in exact mode its backward pass, is counted by hooks of the
# program's own. What a model computes, and what its copies do, is the same.
. "$(dirname "$0")/lib.sh"
python=${PYTHON:-/usr/bin/python3}
if ! [ -e "$root/build/python/proftrace/_native.abi3.so" ]; then
	skip "PyTorch" "the Python package is not built: no Python headers (python3-dev)"
	finish
fi
if ! "$python" -c 'import torch' 2>/dev/null; then
	skip "PyTorch" "it is not installed (python3-torch)"
	finish
fi
need_tracing
export PYTHONPATH="$root/build/python:$root/tests/python" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1

equal "copies, TorchScript, replicas" "$("$python" "$root/tests/languages/torch/model.py" copies 2>&1 | tail -1)" \
	"copies compute the same"
find_modes
options=
backward=backward
for mode in $modes; do
	recorded "$mode, a tree of modules" "$python" "$root/tests/python/modules.py" torch
	holds_all "$mode, a tree of modules"
	recorded "$mode, a model" "$python" "$root/tests/languages/torch/model.py" $backward
	holds_all "$mode, a model"
	backward=
done
finish
