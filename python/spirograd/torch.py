"""Programs as functions of PyTorch's tensors, which torch.autograd differentiates, as often as it is asked.

    loss = spirograd.torch.function(spirograd.Program.from_text(text, N=4))
    loss(w, x, y).backward()

Tensors pass through the memory of the host, on whatever device they are; results are on that of the first argument.
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from . import Device, Program
from ._bridge import Differentiable


def function(program: Program, device: Optional[Device] = None) -> Callable[..., Any]:
    """Takes a tensor per input, in order, of its element type and shape; gives one tensor, or a tuple of them."""
    call = _function(Differentiable(program, device))
    return lambda *tensors: call(*tensors) if len(program.outputs) > 1 else call(*tensors)[0]


def _function(made: Differentiable) -> Callable[..., Any]:
    class Call(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            ctx.save_for_backward(*tensors)
            ctx.set_materialize_grads(True)
            place = tensors[0].device if tensors else torch.device("cpu")
            out = tuple(torch.from_numpy(a).to(place) for a in made.run(*[t.detach().cpu().numpy() for t in tensors]))
            ctx.mark_non_differentiable(*[t for i, t in enumerate(out) if i not in made.of])
            return out

        @staticmethod
        def backward(ctx, *cotangents):
            given = [cotangents[i] for i in made.of]
            found = _function(made.pullback)(*ctx.saved_tensors, *given)[len(made.program.outputs):]
            by_place = dict(zip(made.by, found))
            return tuple(by_place.get(i) for i in range(len(made.program.inputs)))

    return Call.apply
