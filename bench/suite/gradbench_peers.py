"""The evaluations of GradBench in JAX and in PyTorch, as a user of these would write them, all in f64.

  gradbench_peers.py jax|torch SECONDS small|large NAME ..

prints {NAME: [{"error": .., FUNCTION: milliseconds, ..}, ..]} as JSON, an object for each case of gradbench_cases.py. Both
libraries take the same text: `lib.xp` is jax.numpy or torch, which call most things by the same names, and `lib.of` has
grad, jvp, jacfwd and vmap. Results are compared with the same references as those of spirograd-gradbench. Searches of
particle and saddle are in JAX alone: PyTorch would run their loops, 30,000 steps of derivatives of derivatives, in Python.
"""
import json
import math
import os
import pathlib
import statistics
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from gradbench_cases import EVALUATIONS, PARENTS, error  # noqa: E402


@dataclass
class Library:
    xp: Any
    of: Any  # its transforms
    array: Callable  # an array of NumPy -> one of the library
    fold: Callable  # (step, state, xs) -> state after all rows of xs
    compiled: Callable  # f -> f, faster
    done: Callable  # waits for a result


def jax_library():
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import jax

    jax.config.update("jax_enable_x64", True)
    fold = lambda step, state, xs: jax.lax.scan(lambda s, x: (step(s, x), None), state, xs)[0]
    return Library(jax.numpy, jax, jax.numpy.asarray, fold, jax.jit, jax.block_until_ready)


def torch_library():
    import torch

    torch.set_default_dtype(torch.float64)

    def fold(step, state, xs):
        for x in zip(*xs) if isinstance(xs, tuple) else xs:
            state = step(state, x)
        return state

    return Library(torch, torch.func, torch.as_tensor, fold, lambda f: f, lambda result: None)


# Each takes a library and the input of a case; name of a function -> what computes it and what of.


def hello(lib, x):
    square = lambda x: x * x
    return {"square": (square, [lib.array(x)]), "double": (lib.of.grad(square), [lib.array(x)])}


def lse(lib, given):
    xp = lib.xp

    def f(x):
        largest = xp.max(x)
        return largest + xp.log(xp.sum(xp.exp(x - largest)))

    x = [lib.array(given["x"])]
    return {"primal": (f, x), "gradient": (lib.of.grad(f), x)}


def llsq(lib, given):
    m, n = len(given["x"]), given["n"]
    t = lib.array(-1 + 2 * np.arange(n) / (n - 1))
    f = lambda x: lib.xp.sum(lib.xp.square(lib.xp.sign(t) - (t[:, None] ** lib.xp.arange(m)) @ x)) / 2
    x = [lib.array(given["x"])]
    return {"primal": (f, x), "gradient": (lib.of.grad(f), x)}


def ode(lib, given):
    n, steps = len(given["x"]), given["s"]
    h = 2 / steps
    first = lib.array(np.ones(1))

    def f(x):
        slope = lambda y: x * lib.xp.concatenate([first, y[:-1]])

        def step(y, _):
            a = slope(y)
            b = slope(y + h / 2 * a)
            c = slope(y + h / 2 * b)
            return y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))

        return lib.fold(step, 0 * x, lib.xp.arange(steps))

    x = [lib.array(given["x"])]
    return {"primal": (f, x), "gradient": (lib.of.grad(lambda x: f(x)[n - 1]), x)}


def det(lib, given):
    size = given["ell"]
    sets, column = np.arange(2 ** size)[:, None], np.arange(size)
    has = sets >> column & 1
    above = has[:, ::-1].cumsum(axis=1)[:, ::-1] - has
    factor = lib.array(has * (1.0 - 2 * (above % 2)))
    without = lib.array(np.where(has == 1, sets - (1 << column), 0))
    start = lib.array((np.arange(2 ** size) == 0).astype(float))

    def f(a):
        add_row = lambda minor, row: lib.xp.sum(factor * row * minor[without], axis=1)
        return lib.fold(add_row, start, a.reshape(size, size))[-1]

    a = [lib.array(given["A"])]
    return {"primal": (f, a), "gradient": (lib.of.grad(f), a)}


def kmeans(lib, given):
    xp = lib.xp

    def cost(centroids, points):
        return xp.sum(xp.amin(xp.sum(xp.square(points[:, None] - centroids), axis=2), axis=1))

    def newton(centroids, points):
        gradient = lambda c: lib.of.grad(cost)(c, points)
        slope, curvature = lib.of.jvp(gradient, (centroids,), (xp.ones_like(centroids),))
        return slope / curvature

    args = [lib.array(given["centroids"]), lib.array(given["points"])]
    return {"cost": (cost, args), "dir": (newton, args)}


def gmm(lib, given):
    xp, (k, d) = lib.xp, given["mu"].shape
    n, m, gamma = given["n"], given["m"], given["gamma"]
    column, row = np.triu_indices(d, 1)
    below = np.full((d, d), d * (d - 1) // 2)  # the place in l, or the zero behind it
    below[row, column] = range(d * (d - 1) // 2)
    below, diagonal = lib.array(below), lib.array(np.eye(d))
    freedom = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((freedom - j) / 2) for j in range(d))
    log_sum = lib.of.nn.logsumexp if hasattr(lib.of, "nn") else xp.logsumexp

    def f(alpha, mu, q, l, x):
        root = xp.concatenate([l, 0 * l[:, :1]], axis=1)[:, below] + diagonal * xp.exp(q)[:, None]
        z = xp.einsum("krc,nkc->nkr", root, x[:, None] - mu)
        density = alpha + xp.sum(q, axis=1) - xp.sum(xp.square(z), axis=2) / 2
        likelihood = xp.sum(log_sum(density, axis=1)) - n * (log_sum(alpha, axis=0) + d / 2 * math.log(2 * math.pi))
        prior = k * (freedom * d * math.log(gamma / math.sqrt(2)) - log_gamma)
        return likelihood + prior - gamma ** 2 / 2 * xp.sum(xp.square(root)) + m * xp.sum(q)

    def gradient(*args):
        return dict(zip(("alpha", "mu", "q", "l"), lib.of.grad(f, argnums=(0, 1, 2, 3))(*args)))

    args = [lib.array(given[name]) for name in ("alpha", "mu", "q", "l", "x")]
    return {"objective": (f, args), "jacobian": (gradient, args)}


def lstm(lib, given):
    xp, (rows, bits) = lib.xp, given["state"].shape
    logistic = lambda v: 1 / (1 + xp.exp(-v))

    def f(main, extra, state, sequence):
        gates = main.reshape(rows // 2, 2, 4, bits)

        def step(carry, pair):
            shown, kept, total = carry
            shown, kept = list(shown), list(kept)
            x = pair[0] * extra[0]
            for i in range(rows // 2):
                gate = lambda g, v: v * gates[i, 0, g] + gates[i, 1, g]
                kept[i] = kept[i] * logistic(gate(0, x)) + logistic(gate(1, shown[i])) * xp.tanh(gate(3, shown[i]))
                x = shown[i] = logistic(gate(2, x)) * xp.tanh(kept[i])
            y = x * extra[1] + extra[2]
            gain = xp.sum(pair[1] * (y - xp.log(2 + xp.sum(xp.exp(y)))))
            return xp.stack(shown), xp.stack(kept), total + gain

        start = (state[0::2], state[1::2], xp.sum(0 * state))
        return -lib.fold(step, start, (sequence[:-1], sequence[1:]))[2] / (bits * (len(sequence) - 1))

    def gradient(*args):
        return xp.concatenate([g.reshape(-1) for g in lib.of.grad(f, argnums=(0, 1))(*args)])

    args = [lib.array(given[name]) for name in ("main_params", "extra_params", "state", "sequence")]
    return {"objective": (f, args), "jacobian": (gradient, args)}


def cross(xp, a, b):
    return xp.stack([a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1], a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2],
                     a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]], axis=-1)


def turned(xp, r, v):
    angle = xp.sqrt(xp.sum(r * r))
    axis = r / angle
    return v * xp.cos(angle) + xp.sin(angle) * cross(xp, axis, v) + axis * (v @ axis)[..., None] * (1 - xp.cos(angle))


def ba(lib, given):
    xp, n, m, p = lib.xp, given["n"], given["m"], given["p"]

    def residual(z, seen):
        at = turned(xp, z[:3], z[11:14] - z[3:6])
        plane = at[:2] / at[2]
        square = xp.sum(plane * plane)
        return z[14] * (plane * (1 + z[9] * square + z[10] * square ** 2) * z[6] + z[7:9] - seen)

    weight_error = lambda w: 1 - w * w

    def observations(cameras, points, w, by, of):
        return xp.concatenate([cameras[by], points[of], w[:, None]], axis=1)

    def objective(cameras, points, w, seen, by, of):
        return lib.of.vmap(residual)(observations(cameras, points, w, by, of), seen), weight_error(w)

    def jacobian(cameras, points, w, seen, by, of):
        return (lib.of.vmap(lib.of.jacfwd(residual))(observations(cameras, points, w, by, of), seen),
                lib.of.vmap(lib.of.grad(weight_error))(w))

    repeated = lambda v, count: lib.array(np.repeat(np.asarray(v)[None], count, axis=0))
    places = np.arange(p)
    args = [repeated(given["cam"], n), repeated(given["x"], m), repeated(given["w"], p), repeated(given["feat"], p),
            lib.array(places % n), lib.array(places % m)]
    return {"objective": (objective, args), "jacobian": (jacobian, args)}


def ba_shown(function, output):
    """What the suite wants: the first observation."""
    of_pair, of_weight = output[0][0], output[1][0]
    if function == "objective":
        return lambda want: {"reproj_error": {**want["reproj_error"], "elements": of_pair},
                             "w_err": {**want["w_err"], "element": of_weight}}
    return lambda want: {**want, "vals": [*np.asarray(of_pair).ravel(), of_weight]}


def ht(lib, given):
    xp, model, theta, us = lib.xp, given["data"]["model"], given["theta"], given["us"]
    base, inverse, positions, weights = (lib.array(model[name]) for name in
                                         ("base_relatives", "inverse_base_absolutes", "base_positions", "weights"))
    side = lib.array(np.array([-1.0 if model["is_mirrored"] else 1, 1, 1]))
    points, at = lib.array(given["data"]["points"]), given["data"]["correspondences"]
    place = lib.array(model["triangles"][at] if len(us) else at)
    unit = lib.array(np.eye(4))

    def turns(theta, i):
        """What bends and spreads a bone; forearm, wrist and the tips of fingers do not move by themselves."""
        finger, joint = divmod(i - 2, 4)
        around = [(0, 7 + 4 * finger)] if i >= 2 and joint == 0 else []
        around += [(1, 6 + 4 * finger + (joint and joint + 1))] if i >= 2 and joint < 3 else []
        out = unit
        for axis, place in around:
            c, s = xp.cos(theta[place]), xp.sin(theta[place])
            plane = [unit[axis] * c - unit[axis + 1] * s, unit[axis] * s + unit[axis + 1] * c]
            out = out @ xp.stack([*unit[:axis], *plane, *unit[axis + 2:]])
        return out

    def vertices(theta):
        absolute = []
        for i, parent in enumerate(PARENTS):
            relative = base[i] @ turns(theta, i)
            absolute.append(relative if parent < 0 else absolute[parent] @ relative)
        moved = xp.stack(absolute) @ inverse
        skin = xp.einsum("vb,brc,vc->vr", weights, moved[:, :3], positions)
        return turned(xp, theta[:3], skin * side) + theta[3:6]

    def between(u, corners):
        return u[0] * corners[0] + u[1] * corners[1] + (1 - u[0] - u[1]) * corners[2]

    if len(us) == 0:
        f = lambda theta: (points - vertices(theta)[place]).reshape(-1)
        return {"objective": (f, [lib.array(theta)]), "jacobian": (lib.of.jacfwd(f), [lib.array(theta)])}

    def within(theta, us):
        return (points - lib.of.vmap(between)(us, vertices(theta)[place])).reshape(-1)

    def jacobian(theta, us):
        by_us = -lib.of.vmap(lib.of.jacfwd(between))(us, vertices(theta)[place])
        return xp.concatenate([by_us.reshape(-1, 2), lib.of.jacfwd(within)(theta, us)], axis=1)

    args = [lib.array(theta), lib.array(us)]
    return {"objective": (within, args), "jacobian": (jacobian, args)}


def bounded(lib, go, step, state, at_most, in_reverse):
    """A while loop; one that is differentiated in reverse takes all of `at_most` steps."""
    lax = lib.of.lax
    if in_reverse:
        return lib.fold(lambda s, _: lax.cond(go(s), step, lambda s: s, s), state, lib.xp.arange(at_most))
    return lax.while_loop(go, step, state)


def descend(lib, f, slope, start, far, at_most, in_reverse):
    """The suite's search: where f is least; the rate doubles after ten steps down and halves after one up."""

    def step(state):
        x, value, g, hits, rate = state
        there = x - rate * g

        def move():
            value_there = f(there)
            return lib.of.lax.cond(value_there < value, lambda: (there, value_there, slope(there), hits + 1, rate),
                                   lambda: (x, value, g, 0, rate / 2))

        return lib.of.lax.cond(hits == 10, lambda: (x, value, g, 0, 2 * rate), move)

    go = lambda state: far(state[2]) & ((state[3] == 10) | far(state[4] * state[2]))
    return bounded(lib, go, step, (start, f(start), slope(start), 0, 1e-5), at_most, in_reverse)[0]


MODES = {outer + inner: (outer == "r", inner == "r") for outer in "fr" for inner in "fr"}


def gradient_by(lib, f, in_reverse):
    return lib.of.grad(f) if in_reverse else lib.of.jacfwd(f)


def particle(lib, given):
    xp = lib.xp
    size = lambda v: xp.sqrt(xp.sum(v * v))

    def potential(x, w):
        return 1 / size(x - xp.stack([10.0, 10 - w])) + 1 / size(x - xp.asarray([10.0, 0.0]))

    def miss(w, outer, inner):
        force = lambda x: -gradient_by(lib, lambda x: potential(x, w), inner)(x)
        step = lambda s: (s[0] + 0.1 * s[1], s[1] + 0.1 * force(s[0]), s[1])
        x, _, before = bounded(lib, lambda s: s[0][1] > 0, step,
                               (xp.asarray([0.0, 8.0]), xp.asarray([0.75, 0.0]), xp.asarray([0.75, 0.0])), 400, outer)
        return (x[0] - x[1] / before[1] * before[0]) ** 2

    def search(outer, inner):
        f = lambda w: miss(w, outer, inner)
        return lambda w: descend(lib, f, gradient_by(lib, f, outer), w, lambda g: abs(g) > 1e-5, 100, False)

    return {name: (search(*mode), [lib.array(given["w"])]) for name, mode in MODES.items()}


def saddle(lib, given):
    f = lambda x, y: lib.xp.sum(x * x) - lib.xp.sum(y * y)
    far = lambda v: lib.xp.sum(v * v) > 1e-10

    def search(outer, inner):
        def both(start):
            def worst(x, in_reverse):
                down = lambda y: -f(x, y)
                return descend(lib, down, gradient_by(lib, down, inner), start, far, 200, in_reverse)

            value = lambda x: f(x, worst(x, False))
            slope = gradient_by(lib, lambda x: f(x, worst(x, outer)), outer)
            x = descend(lib, value, slope, start, far, 200, False)
            return lib.xp.concatenate([x, worst(x, False)])

        return both

    return {name: (search(*mode), [lib.array(np.array(given["start"]))]) for name, mode in MODES.items()}


def milliseconds(run, seconds):
    times, start = [], time.perf_counter()
    while not times or time.perf_counter() - start < seconds:
        before = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - before))
    return statistics.median(times)


def to_numpy(output):
    if isinstance(output, dict):
        return {name: to_numpy(part) for name, part in output.items()}
    return [np.asarray(part) for part in output] if isinstance(output, tuple) else np.asarray(output)


def measured(lib, case, seconds):
    functions = globals()[case.evaluation](lib, case.input)
    out = {"error": 0}
    for name, want in case.functions.items():
        f, args = functions[name]
        f = lib.compiled(f)
        have = to_numpy(f(*args))
        have = ba_shown(name, have)(want) if case.evaluation == "ba" else have
        out["error"] = max(out["error"], error(have, want))
        out[name] = milliseconds(lambda: lib.done(f(*args)), seconds)
    return out


if __name__ == "__main__":
    peer, its_seconds, size, *names = sys.argv[1:]
    library = {"jax": jax_library, "torch": torch_library}[peer]()
    left_out = () if peer == "jax" else ("particle", "saddle")
    print(json.dumps({name: [measured(library, case, float(its_seconds)) for case in EVALUATIONS[name](size == "small")]
                      for name in names if name not in left_out}))
