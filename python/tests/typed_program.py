"""A user's program as a type checker sees it: mypy --strict takes it all, and finds each mistake that is marked as one."""
import pathlib

import numpy as np

import spirograd

text = "def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = mean(square(w[0] + w[1] * x - y))\n"
loss: spirograd.Function = spirograd.function(text)
x = np.arange(4, dtype=np.float32)

gradient: np.ndarray = loss.grad("w")(w=[1, 0], x=x, y=[1, 3, 5, 7])["d_w"]
both: spirograd.Function = loss.value_and_grad("w", "x")
print(gradient, both.program([1, 0], x, x).inputs[0].shape[0] + 1)

program: spirograd.Program = spirograd.load(pathlib.Path("loss.sg"), "loss", dtype=np.float64, N=4)
forward, backward = program.vjp("w").split("w")
data: bytes = forward.save(spirograd.Device("0"), deterministic=True)
session: spirograd.Session = backward.session()
session.write(w=x)
session.feed("next", "w")
session.run(10)
print(session.read("w").sum(), spirograd.devices()[0].upper())
try:
    program(x)
except spirograd.SpirogradError as error:
    print(error.code.lower(), error.line + 1)

loss.grad(0)  # type: ignore[arg-type]
session.run("10")  # type: ignore[arg-type]
spirograd.Program.from_text(text, M="4")  # type: ignore[arg-type]
spirograd.Device(0)  # type: ignore[arg-type]
data.run()  # type: ignore[attr-defined]
loss.gradient("w")  # type: ignore[attr-defined]
