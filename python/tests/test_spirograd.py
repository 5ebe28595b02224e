"""The Python package on the device that the environment gives."""
import gc
import inspect
import pathlib
import tempfile
import threading
import typing
import unittest

import numpy as np

import spirograd as sg

LINE = "def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = mean(square(w[0] + w[1] * x - y))\n"
X, Y = np.array([0, 1, 2, 3], np.float32), np.array([1, 3, 5, 7], np.float32)


class Producer:
    """Has DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Spirograd(unittest.TestCase):
    def expect(self, code, words, call, *arguments, **named):
        with self.assertRaises(sg.SpirogradError) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.code, code)
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def test_value_gradient_and_differences_agree(self):
        line = sg.Program.from_text(LINE, N=4)
        out = line.value_and_grad("w")(w=[1, 0], x=X, y=Y)
        self.assertEqual(out["loss"], 14)
        np.testing.assert_array_equal(out["d_w"], [-6, -14])
        self.assertEqual(out["d_w"].dtype, np.float32)
        np.testing.assert_array_equal(line.grad("w")([1, 0], X, Y)["d_w"], out["d_w"])
        direction = np.array([0.5, -2], np.float32)
        forward = line.jvp("w")(w=[1, 0], x=X, y=Y, dot_w=direction)
        self.assertAlmostEqual(float(forward["dot_loss"]), float(out["d_w"] @ direction), places=4)
        np.testing.assert_array_equal(line.vjp("w")([1, 0], X, Y, 2)["d_w"], 2 * out["d_w"])
        first_half, backward = line.split("w")
        kept = first_half([1, 0], X, Y)
        given = {**kept, "x": X, "ct_loss": np.float32(2)}
        given = {a.name: given[a.name] for a in backward.inputs}
        np.testing.assert_allclose(backward(**given)["d_w"], 2 * out["d_w"], rtol=1e-6)
        at = lambda t: float(line(np.array([1, 0], np.float32) + np.float32(t) * direction, X, Y)["loss"])
        self.assertAlmostEqual((at(0.25) - at(-0.25)) / 0.5, float(forward["dot_loss"]), places=4)

    def test_every_element_type_and_empty_arrays(self):
        same = sg.Program.from_text("def f(a: bool[3], b: i32[2], c: u32, d: f32[2,1], e: f32[0,3]) = (a, b, c, d, e)\n")
        given = [np.array([True, False, True]), np.array([-1, 2**31 - 1], np.int32), np.uint32(2**32 - 1),
                 np.array([[np.nan], [-np.inf]], np.float32), np.empty((0, 3), np.float32)]
        for want, have in zip(given, same(*given).values()):
            np.testing.assert_array_equal(have, want)
            self.assertEqual((have.dtype, have.shape), (want.dtype, want.shape))
        wide = sg.Program.from_text("def f(x: T[2]) = x\n", dtype=np.float64)
        self.assertEqual(wide.inputs[0].dtype, np.float64)

    def test_all_that_users_call_has_types(self):
        calls = [sg.devices, sg.function, sg.load]
        for of in (sg.Device, sg.Program, sg.Session, sg.Function, sg.Array):
            calls += [call for name, call in inspect.getmembers(of, inspect.isroutine)
                      if name == "__call__" or not name.startswith("_")]
        self.assertGreater(len(calls), 20)
        for call in calls:
            names = {name for name in inspect.signature(call).parameters if name != "self"} | {"return"}
            self.assertEqual(names, set(typing.get_type_hints(call)), call.__qualname__)
        self.assertTrue((pathlib.Path(sg.__file__).parent / "py.typed").exists())

    def test_arrays_need_not_lie_in_order(self):
        total = sg.Program.from_text("def f(x: f32[2,3]) = x\n")
        x = np.arange(6, dtype=np.float32).reshape(3, 2).T
        np.testing.assert_array_equal(next(iter(total(x).values())), x)

    def test_dlpack_goes_in_and_out(self):
        twice = sg.Program.from_text("def f(x: f32[4]) -> (y: f32[4]) = 2 * x\n")
        y = twice(Producer(X))["y"]
        np.testing.assert_array_equal(np.from_dlpack(Producer(y)), 2 * X)
        self.expect("SG0501", "int32 are given", twice, Producer(X.astype(np.int32)))

    def test_wrong_arrays_are_refused(self):
        line = sg.Program.from_text(LINE, N=4)
        self.expect("SG0501", "'x' has elements of float32, and float64 are given", line, [1, 0], X.astype(float), Y)
        self.expect("SG0501", "'x' has the shape (4,), and (3,) is given", line, [1, 0], X[:3], Y)
        self.expect("SG0501", "has the shape (2,), and (2, 1) is given", line, [[1], [0]], X, Y)
        self.expect("SG0502", "needs 'y'", line, [1, 0], X)
        self.expect("SG0503", "'z'", line, [1, 0], X, z=Y)
        self.expect("SG0503", "'x'", line, [1, 0], X, Y, x=X)
        self.expect("SG0501", "3 inputs, and 4 are given", line, 1, 2, 3, 4)

    def test_numbers_of_python_become_elements_that_hold_them(self):
        same = lambda dtype: sg.Program.from_text("def f(x: T[N]) -> (y: T[N]) = x", dtype=dtype, N=2)
        for dtype, value in (("int32", [-1, 2]), ("uint32", [0, 2**32 - 1]), ("float32", [1, 2.5])):
            np.testing.assert_array_equal(same(dtype)(value)["y"], np.array(value, dtype))
        self.expect("SG0506", "do not hold", same("uint32"), [-1, 2])
        self.expect("SG0506", "do not hold", same("int32"), [2**31, 2])
        self.expect("SG0501", "float64 are given", same("int32"), [1.5, 2])

    def test_errors_have_code_help_and_place(self):
        text = "def f(x: f32[3]) {\n  let y = sine(x)\n  y\n}\n"
        error = self.expect("SG0403", "let y = sine(x)", sg.Program.from_text, text, file="model.sg")
        self.assertEqual((error.file, error.line, error.column), ("model.sg", 2, 11))
        self.assertIn("sin", error.help)
        self.expect("SG0105", "N", sg.Program.from_text, LINE)
        self.expect("SG0202", "'v'", sg.Program.from_text(LINE, N=4).grad, "v")
        self.expect("SG0509", "float128", sg.Program.from_text, LINE, dtype=np.longdouble)
        self.expect("SG0304", "no such device", sg.Device, "no such device")

    def test_bundles_and_files(self):
        program = sg.Program.from_text(LINE, N=4).value_and_grad("w")
        with tempfile.TemporaryDirectory() as folder:
            bundle, text = pathlib.Path(folder) / "line.sgb", pathlib.Path(folder) / "line.sg"
            bundle.write_bytes(program.save())
            text.write_text(LINE)
            back = sg.load(bundle)
            np.testing.assert_array_equal(back([1, 0], X, Y)["d_w"], [-6, -14])
            self.expect("SG0509", "comes from a bundle", back.grad, "w")
            self.assertEqual(sg.load(text, N=4)([1, 0], X, Y)["loss"], 14)
            self.expect("SG0504", "no such file", sg.load, pathlib.Path(folder) / "none.sg")
        self.expect("SG0501", "", sg.Program.from_bundle, b"no bundle")

    def test_a_fit_stays_on_the_device(self):
        step = sg.Program.from_text(
            "def step(w: f32[2], x: f32[4], y: f32[4]) -> (loss: f32, next: f32[2]) {\n"
            "  let (l, g) = value_and_grad(fn(v) => mean(square(v[0] + v[1] * x - y)))(w)\n  (l, w - 0.1 * g)\n}\n")
        session = step.session(sg.Device("0"), deterministic=True)
        session.feed("next", "w")
        session.write(w=[1, 0], x=X, y=Y)
        session.run()
        self.assertEqual(session.read("loss"), 14)
        session.run(999)
        np.testing.assert_allclose(session.read("next"), [1, 2], atol=1e-4)
        self.expect("SG0503", "'z'", session.write, z=1)
        self.expect("SG0503", "'z'", session.read, "z")
        self.expect("SG0501", "steps is 0", session.run, 0)

    def test_a_function_takes_its_sizes_from_what_it_is_given(self):
        loss = sg.function(LINE)
        self.assertEqual(loss([1, 0], X, Y)["loss"], 14)
        gradient = loss.value_and_grad("w")
        np.testing.assert_allclose(gradient(w=[1, 0], x=X[:2], y=Y[:2])["d_w"], [-2, -2])
        self.assertEqual(gradient(w=[1, 0], x=X, y=Y)["d_w"].tolist(), [-6, -14])
        self.assertIs(gradient.program([1, 0], X, Y), gradient.program([1, 0], X + 1, Y))
        self.assertIsNot(gradient.program([1, 0], X, Y), gradient.program([1, 0], X[:3], Y[:3]))
        both = loss.jvp("w")
        out = both([1, 0], X, Y, dot_w=[0, 1])
        self.assertEqual(out["dot_loss"], -14)
        self.assertEqual(loss.vjp("w")(x=X, y=Y, w=[1, 0], ct_loss=2)["d_w"].tolist(), [-12, -28])
        self.assertEqual(loss.grad("w").jvp("w")([1, 0], X, Y, dot_w=[1, 0])["dot_d_w"].tolist(), [2, 3])

    def test_functions_keep_what_was_used_last(self):
        twice = sg.Function(sg.function("def f(x: T[N]) -> (y: T[N]) = 2 * x\n")._make, limit=2)
        first = twice.program(X)
        self.assertEqual(twice(np.arange(3, dtype=np.int32))["y"].tolist(), [0, 2, 4])
        self.assertIs(twice.program(X), first)
        twice(X[:1])
        self.assertIs(twice.program(X), first)
        twice(X[:2]), twice(X[:3])
        self.assertIsNot(twice.program(X), first)

    def test_functions_tell_what_is_wrong_with_arguments(self):
        loss = sg.function(LINE)
        self.expect("SG0502", "'y'", loss, [1, 0], X)
        self.expect("SG0503", "no parameter 4", loss, [1, 0], X, Y, Y)
        self.expect("SG0503", "'z'", loss, [1, 0], X, Y, z=1)
        self.expect("SG0503", "'w'", loss, [1, 0], X, Y, w=[1, 0])
        self.expect("SG0104", "N", loss, [1, 0], X, Y[:3])
        self.expect("SG0501", "int16", loss, [1, 0], X.astype(np.int16), Y)
        self.expect("SG0103", "given f16[4]", loss, [1, 0], X.astype(np.float16), Y)
        self.expect("SG0509", "0 to 6 axes", loss, [1, 0], np.zeros([1] * 7, np.float32), Y)
        self.expect("SG0106", "what T stands for", sg.function("def f(x: T[N]) = 2 * x\n"), [1, 2])
        # Not every device runs f64: there the program is made all the same.
        doubled = sg.function("def f(x: T[N]) = 2 * x\n", dtype="float64")
        self.assertEqual(doubled.program([1, 2]).outputs[0].dtype, np.float64)
        halves = sg.function("def f(x: f16[N]) -> f16[N] = 2 * x\n")
        self.assertEqual(halves.program(X.astype(np.float16)).outputs[0].dtype, np.float16)
        try:
            np.testing.assert_array_equal(halves(X.astype(np.float16))["out"], (2 * X).astype(np.float16))
        except sg.SpirogradError as error:  # nor f16
            self.assertEqual(error.code, "SG0303")
        integers = sg.function("def f(x: T[N]) = 2 * x\n", dtype="int32")
        np.testing.assert_array_equal(integers([1, 2])["out"], np.array([2, 4], np.int32))
        self.assertEqual(integers.program([1, 2]).outputs[0].dtype, np.int32)
        self.expect("SG0504", "none.sg", sg.function("none.sg"), X)
        self.expect("SG0403", "'g'", sg.function(LINE, "g"), X)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "line.sg"
            file.write_text(LINE)
            for source in (file, str(file)):
                self.assertEqual(sg.function(source, "loss")([1, 0], X, Y)["loss"], 14)

    def test_threads_share_a_program(self):
        twice = sg.Program.from_text("def f(x: f32[4]) -> (y: f32[4]) = 2 * x\n")
        wrong = []

        def work(k):
            for _ in range(20):
                if not (twice(X + np.float32(k))["y"] == 2 * (X + np.float32(k))).all():
                    wrong.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_what_is_dropped_ends(self):
        session = sg.Program.from_text("def f(x: f32[4]) -> (y: f32[4]) = 2 * x\n").session(sg.Device())
        gc.collect()
        np.testing.assert_array_equal(session(X)["y"], 2 * X)

    def test_devices_have_names(self):
        self.assertEqual(sg.Device("0").name, sg.devices()[0])
        self.assertRegex(sg.__version__, r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
