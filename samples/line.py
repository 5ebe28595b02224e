# A line through four points: its gradient, and a fit whose weights stay on the device.
import numpy as np
import spirograd as sg

line = sg.function("def loss(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32) = mean(square(w[0] + w[1] * x - y))")
x = np.array([0, 1, 2, 3], np.float32)
y = 2 * x + 1

out = line.value_and_grad("w")(w=[1, 0], x=x, y=y)
print("loss", out["loss"], "gradient", out["d_w"])

step = sg.Program.from_text("""
def step(w: f32[2], x: f32[N], y: f32[N]) -> (loss: f32, next: f32[2]) {
  let (l, g) = value_and_grad(fn(v) => mean(square(v[0] + v[1] * x - y)))(w)
  (l, w - 0.1 * g)
}""", N=4).session()
step.feed("next", "w")
step.write(w=[1, 0], x=x, y=y)
step.run(500)
print("w", np.round(step.read("next"), 3))

try:
    line(w=[1, 0], x=x.astype(float), y=y)
except sg.SpirogradError as error:
    print(error)
