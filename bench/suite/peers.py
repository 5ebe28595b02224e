"""The programs of programs.sg in JAX and in PyTorch.

  peers.py jax|torch host|gpu SECONDS CASE ..   prints milliseconds of the value and of the gradient as JSON, for each case

Products of matrices and convolutions are those of f32 on GPUs as well, where peers would round to fewer bits.
"""
import json
import os
import statistics
import sys
import time

import numpy

sys.path.insert(0, __file__.rpartition("/")[0])
from cases import CASES


def jax_functions():
    import jax
    from jax import lax, nn
    from jax import numpy as jnp

    def log_softmax_loss(w1, b1, w2, b2, x, label):
        scores = nn.log_softmax(nn.relu(x @ w1 + b1) @ w2 + b2)
        return -jnp.mean(jnp.take_along_axis(scores, label[:, None], axis=1))

    return {
        "wave": lambda x: jnp.exp(0.5 * jnp.sin(x) + 0.1 * jnp.square(x)),
        "row_sums": lambda x: jnp.sum(x, axis=1),
        "column_sums": lambda x: jnp.sum(x, axis=0),
        "log_partition": lambda x: jnp.sum(jax.scipy.special.logsumexp(x, axis=1)),
        "softmax_rows": lambda x: nn.softmax(x, axis=1),
        "layer_norm": lambda x, scale, shift: nn.standardize(x, axis=1) * scale + shift,
        "attention": lambda q, k, v: nn.softmax(q @ k.transpose(0, 2, 1) / 8, axis=2) @ v,
        "product": lambda a, b: a @ b,
        "products": lambda a, b: a @ b,
        "convolution": lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME",
                                                             dimension_numbers=("NHWC", "HWIO", "NHWC")),
        "nearest_centre": lambda centres, x: jnp.sum(jnp.min(jnp.sum(jnp.square(x[:, None] - centres), axis=2), axis=1)),
        "network": log_softmax_loss,
        "histogram": lambda weight, bin: jnp.zeros(1000, jnp.float32).at[bin].add(weight),
        "lookup": lambda table, place: table[place],
        "running_sums": jnp.cumsum,
        "recurrence": lambda a, start, x: jnp.sum(lax.scan(lambda s, v: (jnp.tanh(s * a + v), None), start, x)[0]),
        "transposed": lambda x: jnp.transpose(x).copy(),
    }, jnp


def torch_functions():
    import torch
    from torch.nn import functional

    def recurrence(a, start, x):
        s = start
        for v in x:
            s = torch.tanh(s * a + v)
        return torch.sum(s)

    def convolution(x, w):
        return functional.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)

    return {
        "wave": lambda x: torch.exp(0.5 * torch.sin(x) + 0.1 * torch.square(x)),
        "row_sums": lambda x: torch.sum(x, dim=1),
        "column_sums": lambda x: torch.sum(x, dim=0),
        "log_partition": lambda x: torch.sum(torch.logsumexp(x, dim=1)),
        "softmax_rows": lambda x: torch.softmax(x, dim=1),
        "layer_norm": lambda x, scale, shift: functional.layer_norm(x, scale.shape, scale, shift),
        "attention": lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) / 8, dim=2) @ v,
        "product": lambda a, b: a @ b,
        "products": lambda a, b: a @ b,
        "convolution": convolution,
        "nearest_centre": lambda centres, x: torch.sum(torch.square(x[:, None] - centres).sum(dim=2).amin(dim=1)),
        "network": lambda w1, b1, w2, b2, x, label: functional.cross_entropy(functional.relu(x @ w1 + b1) @ w2 + b2, label),
        "histogram": lambda weight, bin: torch.zeros(1000).index_add(0, bin, weight),
        "lookup": lambda table, place: table[place],
        "running_sums": lambda x: torch.cumsum(x, dim=0),
        "recurrence": recurrence,
        "transposed": lambda x: x.t().contiguous(),
    }, torch


def with_losses(functions, xp):
    """The scalar functions that gradients are taken of, by the names of programs.sg."""
    squares = lambda f: lambda *args: xp.sum(xp.square(f(*args)))
    out = dict(functions)
    out["wave_sum"] = lambda x: xp.sum(functions["wave"](x))
    out["lookup_loss"] = squares(functions["lookup"])
    out["running_sums_loss"] = lambda x: xp.mean(xp.square(functions["running_sums"](x)))
    for name in ("row_sums", "column_sums", "softmax_rows", "layer_norm", "attention", "product", "products",
                 "convolution", "histogram"):
        out[name + "_loss"] = squares(functions[name])
    return out


def arrays(case):
    random = numpy.random.default_rng(1)
    for name, shape, *places in case.inputs:
        yield name, random.integers(0, places[0], shape) if places else random.standard_normal(shape, dtype=numpy.float32)


def milliseconds(run, seconds):
    run()
    run()
    times, start = [], time.perf_counter()
    while not times or (time.perf_counter() - start < seconds and len(times) < 1000):
        before = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - before))
    return statistics.median(times)


def of_value_and_gradient(case, value, gradient, seconds):
    out = {"value": milliseconds(value, seconds)}
    if case.loss:
        out["gradient"] = milliseconds(gradient, seconds)
    return out


def measure_jax(case, where, seconds):
    if where == "host":
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    if where == "gpu" and jax.default_backend() == "cpu":
        sys.exit("JAX finds no GPU: it needs jax[cuda] or jax[rocm]")
    jax.config.update("jax_default_matmul_precision", "highest")
    functions = with_losses(*jax_functions())
    args = [jax.device_put(a.astype(numpy.int32) if a.dtype.kind == "i" else a) for _, a in arrays(case)]
    places = tuple(j for j, i in enumerate(case.inputs) if i[0] in case.wrt)
    value = jax.jit(functions[case.value])
    gradient = jax.jit(jax.value_and_grad(functions[case.loss], argnums=places)) if case.loss else None
    return of_value_and_gradient(case, lambda: jax.block_until_ready(value(*args)),
                                 lambda: jax.block_until_ready(gradient(*args)), seconds)


def measure_torch(case, where, seconds):
    import torch

    device = "cpu" if where == "host" else "cuda"  # of AMD's, too
    torch.set_default_device(device)
    torch.backends.cudnn.allow_tf32 = False
    functions = with_losses(*torch_functions())
    args = {name: torch.from_numpy(a).to(device).requires_grad_(name in case.wrt) for name, a in arrays(case)}
    wait = torch.cuda.synchronize if where == "gpu" else lambda: None

    def value():
        with torch.no_grad():
            functions[case.value](*args.values())
        wait()

    def gradient():
        torch.autograd.grad(functions[case.loss](*args.values()), [args[w] for w in case.wrt])
        wait()

    return of_value_and_gradient(case, value, gradient, seconds)


if __name__ == "__main__":
    peer, where, seconds, *names = sys.argv[1:]
    measure = {"jax": measure_jax, "torch": measure_torch}[peer]
    print(json.dumps({c.name: measure(c, where, float(seconds)) for c in CASES if c.name in names}))
