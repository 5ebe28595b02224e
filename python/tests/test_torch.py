"""Programs among PyTorch's functions: gradients, second ones and integers, against PyTorch's own."""
import unittest

import torch

import spirograd as sg
import spirograd.torch

TEXT = "def f(w: f32[3], x: f32[3], k: i32) -> (loss: f32, y: f32[3], k: i32) = (sum(sin(w * x) * w), w * x * x, k)\n"


def theirs(w, x):
    return torch.sum(torch.sin(w * x) * w), w * x * x


def tensors():
    return torch.tensor([0.5, -1.25, 2.0], requires_grad=True), torch.tensor([1.5, 0.25, -0.5], requires_grad=True)


class Torch(unittest.TestCase):
    def test_gradients_are_those_of_pytorch(self):
        ours = spirograd.torch.function(sg.Program.from_text(TEXT))
        w, x = tensors()
        loss, y, k = ours(w, x, torch.tensor(3, dtype=torch.int32))
        self.assertEqual(k.item(), 3)
        self.assertFalse(k.requires_grad)
        v, u = tensors()
        want, also = theirs(v, u)
        torch.testing.assert_close(loss, want)
        torch.testing.assert_close(y, also)
        (loss * y.sum()).backward()
        (want * also.sum()).backward()
        torch.testing.assert_close(w.grad, v.grad)
        torch.testing.assert_close(x.grad, u.grad)

    def test_second_derivatives_are_those_of_pytorch(self):
        ours = spirograd.torch.function(sg.Program.from_text(TEXT))
        grads = []
        for f in (lambda w, x: ours(w, x, torch.tensor(0, dtype=torch.int32))[0], lambda w, x: theirs(w, x)[0]):
            w, x = tensors()
            (g,) = torch.autograd.grad(f(w, x), w, create_graph=True)
            grads.append(torch.autograd.grad((g * g).sum(), (w, x)))
        for have, want in zip(*grads):
            torch.testing.assert_close(have, want)

    def test_one_result_is_one_tensor_and_what_is_not_used_costs_nothing(self):
        square = spirograd.torch.function(sg.Program.from_text("def f(x: f32[2,0]) = 2 * x"))
        x = torch.zeros(2, 0, requires_grad=True)
        square(x).sum().backward()
        self.assertEqual(x.grad.shape, (2, 0))

    def test_wrong_tensors_are_refused(self):
        ours = spirograd.torch.function(sg.Program.from_text(TEXT))
        w, x = tensors()
        with self.assertRaisesRegex(sg.SpirogradError, "'k' has elements of int32, and int64 are given"):
            ours(w, x, torch.tensor(3))


if __name__ == "__main__":
    unittest.main()
