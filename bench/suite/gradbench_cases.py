"""GradBench's inputs, as its generators make them or, where it reads files, made up in the same shapes; and what has to come
out, by NumPy in double: formulas written out, or the same loops over complex numbers, f(x + ih) / h, which is exact."""
import math
from dataclasses import dataclass

import numpy as np

STEP = 1e-30


@dataclass
class Case:
    evaluation: str
    size: str
    input: object
    functions: dict  # name -> what comes out, or a function from what came out to its error


def flat(output):
    """All numbers, members of objects by their names."""
    if isinstance(output, dict):
        return np.concatenate([flat(output[name]) for name in sorted(output)])
    return np.asarray(output, float).ravel()


def error(have, want):
    """The suite's measure: |x - y| / max(1, |x| + |y|), the largest. It demands 1e-4."""
    if callable(want):
        return want(flat(have))
    have, want = flat(have), flat(want)
    if have.shape != want.shape:
        return math.inf
    return float(np.max(np.abs(have - want) / np.maximum(1, np.abs(have) + np.abs(want)), initial=0))


def slopes(f, at):
    """Columns: derivatives of f by each of `at`, which moves one at a time."""
    return np.stack([f(at + 1j * STEP * unit).imag / STEP for unit in np.eye(len(at))], axis=-1)


def hello(small):
    yield Case("hello", "", 3.0, {"square": 9.0, "double": 6.0})


def lse(small):
    x = np.random.RandomState(31337).rand(50 if small else 1_280_000)
    e = np.exp(x - x.max())
    yield Case("lse", f"n = {len(x):,}", {"x": x}, {"primal": x.max() + np.log(e.sum()), "gradient": e / e.sum()})


def llsq(small):
    x, n = np.random.RandomState(31337).rand(5 if small else 128), 17 if small else 16392
    t = -1 + 2 * np.arange(n) / (n - 1)
    powers = t[:, None] ** np.arange(len(x))
    rest = np.sign(t) - powers @ x
    yield Case("llsq", f"m = {len(x)}, n = {n:,}", {"x": x, "n": n},
               {"primal": (rest ** 2).sum() / 2, "gradient": -powers.T @ rest})


def runge_kutta(x, steps):
    y, h = 0 * x, 2 / steps
    slope = lambda y: x * np.concatenate([[1], y[:-1]])
    for _ in range(steps):
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
    return y


def ode(small):
    n, steps = (7, 3) if small else (100_000, 100)
    x = np.random.RandomState(31337).rand(n)
    gradient, reach = np.zeros(n), min(n, 4 * steps + 4)  # a step moves what is known of a component by four
    tail = lambda z: runge_kutta(np.concatenate([x[n - reach - 1:n - reach], z]), steps)[-1:]
    gradient[n - reach:] = slopes(tail, x[n - reach:])[0]
    yield Case("ode", f"n = {n:,}, s = {steps}", {"x": x, "s": steps},
               {"primal": runge_kutta(x, steps), "gradient": gradient})


def det(small):
    n = 4 if small else 11
    a = np.random.RandomState(31337).rand(n, n)
    d = np.linalg.det(a)
    yield Case("det", f"l = {n}", {"A": a.ravel(), "ell": n}, {"primal": d, "gradient": d * np.linalg.inv(a).T})


def kmeans(small):
    k, n, d = (3, 20, 2) if small else (1000, 10000, 16)
    points = np.random.RandomState(31337).rand(n, d)
    centroids = points[-k:]
    distances = np.stack([((points - c) ** 2).sum(axis=1) for c in centroids], axis=1)
    nearest = distances.argmin(axis=1)
    sums = np.zeros((k, d))
    np.add.at(sums, nearest, points)
    yield Case("kmeans", f"k = {k:,}, n = {n:,}, d = {d}", {"points": points, "centroids": centroids},
               {"cost": distances.min(axis=1).sum(), "dir": centroids - sums / np.bincount(nearest, minlength=k)[:, None]})


def gmm(small):
    d, k, n, m, gamma = (3, 2, 8, 2, 1.5) if small else (64, 100, 1000, 0, 1.0)
    draw = np.random.default_rng(31337)
    x, mu, q = draw.normal(size=(n, d)), draw.uniform(size=(k, d)), draw.normal(size=(k, d))
    l, alpha = draw.normal(size=(k, d * (d - 1) // 2)), draw.normal(size=k)
    column, row = np.triu_indices(d, 1)  # column by column, as l is
    root = np.zeros((k, d, d))
    root[:, row, column] = l
    root[:, range(d), range(d)] = np.exp(q)
    away = [x - mu[j] for j in range(k)]
    z = [away[j] @ root[j].T for j in range(k)]
    density = np.stack([alpha[j] + q[j].sum() - (z[j] ** 2).sum(axis=1) / 2 for j in range(k)], axis=1)
    top = density.max(axis=1, keepdims=True)
    by_point = top + np.log(np.exp(density - top).sum(axis=1, keepdims=True))
    share = np.exp(density - by_point)
    weight = np.exp(alpha) / np.exp(alpha).sum()
    freedom = d + m + 1
    log_gamma = d * (d - 1) / 4 * math.log(math.pi) + sum(math.lgamma((freedom - j) / 2) for j in range(d))
    value = (by_point.sum() - n * np.log(np.exp(alpha).sum()) - n * d / 2 * math.log(2 * math.pi)
             + k * (freedom * d * math.log(gamma / math.sqrt(2)) - log_gamma)
             - gamma ** 2 / 2 * (root ** 2).sum() + m * q.sum())
    pull = [share[:, j, None] * z[j] for j in range(k)]
    by_root = np.stack([-pull[j].T @ away[j] for j in range(k)]) - gamma ** 2 * root
    gradient = {"alpha": share.sum(axis=0) - n * weight, "mu": np.stack([(pull[j] @ root[j]).sum(axis=0) for j in range(k)]),
                "q": by_root[:, range(d), range(d)] * np.exp(q) + share.sum(axis=0)[:, None] + m,
                "l": by_root[:, row, column]}
    yield Case("gmm", f"d = {d}, k = {k}, n = {n:,}",
               {"d": d, "k": k, "n": n, "x": x, "m": m, "gamma": gamma, "mu": mu, "q": q, "l": l, "alpha": alpha},
               {"objective": value, "jacobian": gradient})


def recurrent_loss(main, extra, state, sequence):
    logistic = lambda v: 1 / (1 + np.exp(-v))
    layers, bits = len(main) // 2, main.shape[1] // 4
    shown, kept, total = list(state[0::2]), list(state[1::2]), 0
    for x, following in zip(sequence, sequence[1:]):
        x = x * extra[0]
        for i in range(layers):
            gate = lambda g, v: v * main[2 * i, g * bits:(g + 1) * bits] + main[2 * i + 1, g * bits:(g + 1) * bits]
            kept[i] = kept[i] * logistic(gate(0, x)) + logistic(gate(1, shown[i])) * np.tanh(gate(3, shown[i]))
            x = shown[i] = logistic(gate(2, x)) * np.tanh(kept[i])
        y = x * extra[1] + extra[2]
        total = total + (following * (y - np.log(2 + np.exp(y).sum()))).sum()
    return -total / (bits * (len(sequence) - 1))


def lstm(small):
    layers, characters, bits = (2, 6, 5) if small else (6, 8192, 14)
    draw = np.random.RandomState(31337)
    main, extra, state = draw.rand(2 * layers, 4 * bits), draw.rand(3, bits), draw.rand(2 * layers, bits)
    sequence = (draw.rand(characters, bits) < 0.5).astype(float)

    def gradient_error(have):
        """In two directions: the whole gradient takes NumPy hours."""
        worst = 0
        for _ in range(2):
            way = draw.randn(main.size + extra.size)
            along = recurrent_loss(main + 1j * STEP * way[:main.size].reshape(main.shape),
                                   extra + 1j * STEP * way[main.size:].reshape(extra.shape), state, sequence).imag / STEP
            worst = max(worst, error([have @ way], [along]))
        return worst

    yield Case("lstm", f"l = {layers}, c = {characters:,}",
               {"main_params": main, "extra_params": extra, "state": state, "sequence": sequence},
               {"objective": recurrent_loss(main, extra, state, sequence), "jacobian": gradient_error})


def particle(small):
    modes = ("ff", "fr", "rf", "rr")
    yield Case("particle", "w = 0", {"w": 0.0}, {m: 0.2071918746486116 for m in modes})


def saddle(small):
    modes = ("ff", "fr", "rf", "rr")
    yield Case("saddle", "from [1, 1]", {"start": [1.0, 1.0]}, {m: [8.246324826140356e-06] * 4 for m in modes})


def turned(r, v):
    angle = np.sqrt((r * r).sum())
    axis = r / angle
    return v * np.cos(angle) + np.sin(angle) * np.cross(axis, v) + axis * (v @ axis)[..., None] * (1 - np.cos(angle))


def reprojection(z, feature):
    at = turned(z[:3], z[11:14] - z[3:6])
    plane = at[:2] / at[2]
    square = (plane * plane).sum()
    return z[14] * (plane * (1 + z[9] * square + z[10] * square ** 2) * z[6] + z[7:9] - feature)


def ba(small):
    n, m, p = (3, 4, 12) if small else (356, 226_730, 1_255_268)
    camera = np.array([0.0157, -0.0128, -0.0044, -0.0341, -0.1075, 1.1202, 399.75, 0, 0, -3.2e-7, 5.9e-13])
    point, weight, feature = np.array([-0.612, 0.571, -1.847]), 0.9, np.array([-332.0, 262.0])
    at = np.concatenate([camera, point, [weight]])
    row = [*range(11), *(11 * n + c for c in range(3)), 11 * n + 3 * m]
    jacobian = {"rows": [15 * min(i, 2 * p) + max(i - 2 * p, 0) for i in range(30)] + [31 * p],
                "cols": row + row + [11 * n + 3 * m + p - 1],
                "vals": [*slopes(lambda z: reprojection(z, feature), at).ravel(), -2 * weight]}
    objective = {"reproj_error": {"elements": reprojection(at, feature), "repeated": p},
                 "w_err": {"element": 1 - weight ** 2, "repeated": p}}
    yield Case("ba", f"n = {n}, m = {m:,}, p = {p:,}",
               {"n": n, "m": m, "p": p, "cam": camera, "x": point, "w": weight, "feat": feature},
               {"objective": objective, "jacobian": jacobian})


PARENTS = [-1, 0] + [1 if i % 4 == 0 else i + 1 for i in range(20)]


def hand_errors(theta, us, model, correspondences, points):
    absolute, at = [], 0
    for i, parent in enumerate(PARENTS):
        finger, joint = divmod(i - 2, 4)
        bend = theta[6 + 4 * finger + (joint and joint + 1)] if i >= 2 and joint < 3 else 0
        spread = theta[7 + 4 * finger] if i >= 2 and joint == 0 else 0
        turn = np.eye(4, dtype=theta.dtype)
        turn[:2, :2] = [[np.cos(spread), -np.sin(spread)], [np.sin(spread), np.cos(spread)]]
        lift = np.eye(4, dtype=theta.dtype)
        lift[1:3, 1:3] = [[np.cos(bend), -np.sin(bend)], [np.sin(bend), np.cos(bend)]]
        relative = model["base_relatives"][i] @ turn @ lift
        absolute.append(relative if parent < 0 else absolute[parent] @ relative)
        moved = model["base_positions"] @ (absolute[i] @ model["inverse_base_absolutes"][i]).T
        at = at + model["weights"][:, i:i + 1] * moved[:, :3]
    at = turned(theta[:3], at * [-1 if model["is_mirrored"] else 1, 1, 1]) + theta[3:6]
    if len(us) == 0:
        return (points - at[correspondences]).ravel()
    corner = [at[model["triangles"][correspondences, c]] for c in range(3)]
    u, v = us[:, :1], us[:, 1:]
    return (points - (u * corner[0] + v * corner[1] + (1 - u - v) * corner[2])).ravel()


def ht(small):
    vertices, triangles, count = (10, 6, 3) if small else (10_000, 20_000, 100_000)
    draw = np.random.RandomState(31337)

    def transforms():
        out = np.tile(np.eye(4), (22, 1, 1))
        for t in out:
            t[:3, :3], t[:3, 3] = np.linalg.qr(draw.randn(3, 3))[0], draw.rand(3)
        return out

    weights = np.zeros((vertices, 22))
    for of_vertex in weights:
        of_vertex[draw.choice(22, 4, replace=False)] = 0.25
    model = {"base_relatives": transforms(), "inverse_base_absolutes": transforms(), "weights": weights,
             "base_positions": np.concatenate([draw.randn(vertices, 3), np.ones((vertices, 1))], axis=1),
             "triangles": draw.randint(0, vertices, (triangles, 3)), "parents": PARENTS, "is_mirrored": small,
             "bone_count": 22, "bone_names": [f"bone {i}" for i in range(22)]}
    theta, points = draw.randn(26) / 2, draw.randn(count, 3)
    for us in (np.zeros((0, 2)), draw.rand(count, 2) / 2):
        within = len(us) > 0
        at = draw.randint(0, triangles if within else vertices, count)
        jacobian = slopes(lambda t: hand_errors(t, us, model, at, points), theta)
        if within:
            one, zero = np.full(count, 1j * STEP), np.zeros(count)
            by_us = [hand_errors(theta, us + np.stack(way, axis=1), model, at, points).imag / STEP
                     for way in ((one, zero), (zero, one))]
            jacobian = np.concatenate([np.stack(by_us, axis=1), jacobian], axis=1)
        yield Case("ht", f"{vertices:,} vertices, {count:,} points" + (" of triangles" if within else ""),
                   {"theta": theta, "us": us, "data": {"model": model, "correspondences": at, "points": points}},
                   {"objective": hand_errors(theta, us, model, at, points), "jacobian": jacobian})


EVALUATIONS = {f.__name__: f for f in (ba, det, gmm, hello, ht, kmeans, llsq, lse, lstm, ode, particle, saddle)}
