"""Programs as functions of JAX's arrays, which jax.grad differentiates in reverse, as often as it is asked, also in jax.jit.

    loss = spirograd.jax.function(spirograd.Program.from_text(text, N=4))
    jax.grad(loss)(w, x, y)

Arrays pass through the memory of the host (jax.pure_callback).
"""
from __future__ import annotations

from typing import Any, Callable, Optional

import jax
import numpy as np

from . import Device, Program
from ._bridge import Differentiable


def function(program: Program, device: Optional[Device] = None) -> Callable[..., Any]:
    """Takes an array per input, in order, of its element type and shape; gives one array, or a tuple of them."""
    call = _function(Differentiable(program, device))
    return lambda *arrays: call(*arrays) if len(program.outputs) > 1 else call(*arrays)[0]


def _function(made: Differentiable) -> Callable[..., Any]:
    shapes = tuple(jax.ShapeDtypeStruct(o.shape, o.dtype) for o in made.program.outputs)

    @jax.custom_vjp
    def call(*arrays):
        return jax.pure_callback(lambda *xs: tuple(made.run(*map(np.asarray, xs))), shapes, *arrays)

    def forward(*arrays):
        return call(*arrays), arrays

    def backward(arrays, cotangents):
        given = [cotangents[i] for i in made.of]
        found = dict(zip(made.by, _function(made.pullback)(*arrays, *given)[len(shapes):]))
        none = lambda a: np.zeros(a.shape, jax.dtypes.float0)
        return tuple(found[i] if i in found else none(a) for i, a in enumerate(arrays))

    call.defvjp(forward, backward)
    return call
