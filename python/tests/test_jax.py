"""Programs among JAX's functions: gradients, second ones, integers, inside of jit, against JAX's own."""
import unittest

import jax
import jax.numpy as jnp
import numpy as np

import spirograd as sg
import spirograd.jax

TEXT = "def f(w: f32[3], x: f32[3], k: i32) -> (loss: f32, y: f32[3], k: i32) = (sum(sin(w * x) * w), w * x * x, k)\n"
W, X, K = np.array([0.5, -1.25, 2.0], np.float32), np.array([1.5, 0.25, -0.5], np.float32), np.int32(3)


def theirs(w, x, k):
    return jnp.sum(jnp.sin(w * x) * w), w * x * x, k


def both(f, w, x):
    loss, y, _ = f(w, x, K)
    return loss * jnp.sum(y)


class Jax(unittest.TestCase):
    def test_values_gradients_and_second_ones_are_those_of_jax(self):
        ours = spirograd.jax.function(sg.Program.from_text(TEXT))
        for have, want in zip(ours(W, X, K), theirs(W, X, K)):
            np.testing.assert_allclose(have, want, rtol=1e-6)
        first = lambda f: jax.grad(lambda w, x: both(f, w, x), (0, 1))
        for have, want in zip(jax.jit(first(ours))(W, X), first(theirs)(W, X)):
            np.testing.assert_allclose(have, want, rtol=1e-5)
        second = lambda f: jax.grad(lambda w: jnp.sum(jnp.square(first(f)(w, X)[0])))
        np.testing.assert_allclose(second(ours)(W), second(theirs)(W), rtol=1e-4)

    def test_one_result_is_one_array(self):
        twice = spirograd.jax.function(sg.Program.from_text("def f(x: f32[2]) = 2 * x"))
        np.testing.assert_array_equal(twice(np.float32([1, 2])), [2, 4])


if __name__ == "__main__":
    unittest.main()
