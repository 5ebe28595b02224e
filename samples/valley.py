# From Python: the lowest place of a valley by gradient steps, all of which run on the device, and the curvature there.
import numpy as np
import spirograd as sg

valley = """
def valley(x: f32[2]) -> (f: f32) = square(1 - x[0]) + 10 * square(x[1] - x[0] * x[0])
def descent(x: f32[2]) -> (x: f32[2]) = fori(4000, fn(i, x) => x - 0.01 * grad(valley)(x), x)
def curvature(x: f32[2]) -> (h: f32[2,2]) = hessian(valley)(x)
"""
lowest = sg.function(valley, "descent")(x=[-1, 1])["x"]
print("lowest at", np.round(lowest, 3))
print("curvature", np.round(np.linalg.eigvalsh(sg.function(valley, "curvature")(x=lowest)["h"]), 1))
