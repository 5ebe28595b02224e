#!/usr/bin/env python3
"""Runs the programs of the gallery and draws their pictures, each alone and all on one sheet.

  samples/gallery/pictures.py [NAME ..] [--tool build/release/tools/spirograd] [--keep] [--work out/gallery]

Each program is run by the command at its top; arrays go to the folder of --work, from where --keep draws again without
a run. Pictures go to docs/pictures/gallery. Needs NumPy, Matplotlib and Pillow: python3-matplotlib of Debian has them all,
and no test needs it.
"""
import argparse
import pathlib
import re
import subprocess

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from PIL import Image  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PICTURES = ROOT / "docs" / "pictures" / "gallery"
INK, RED, BLUE, GREEN, GREY = "#22252b", "#c8452f", "#2f6db5", "#3b8f5a", "#9aa0a8"
CLOTH = {"color": "#d98c5f", "edgecolor": "#7a3f20", "linewidth": 0.3, "rstride": 1, "cstride": 1}
plt.rcParams.update({"font.size": 9, "axes.titlesize": 10, "axes.edgecolor": INK, "text.color": INK, "axes.labelcolor": INK,
                     "xtick.color": INK, "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False})


def figure(*widths, height=2.9):
    fig, axes = plt.subplots(1, len(widths), figsize=(9, height), gridspec_kw={"width_ratios": widths}, layout="constrained")
    return fig, axes


def image(ax, x, title, **how):
    ax.imshow(np.clip(x, 0, 1) if x.ndim == 3 else x, **({"interpolation": "nearest"} | how))
    ax.set_title(title)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def history(ax, loss, title, unit="mean squared error"):
    ax.semilogy(loss, color=BLUE)
    ax.set_title(title)
    ax.set_xlabel("step")
    ax.set_ylabel(unit)
    ax.grid(alpha=0.3)


def splats(d):
    fig, ax = figure(1, 1, 1, 1.15)
    image(ax[0], d["target"], "a picture")
    image(ax[1], d["picture"], f"{len(d['centre'])} splats")
    n = d["target"].shape[0]
    image(ax[2], 0.35 * d["picture"] + 0.65, "their centres")
    ax[2].scatter(d["centre"][:, 1] * n - 0.5, d["centre"][:, 0] * n - 0.5, s=7, color=RED)
    ax[2].set_xlim(-0.5, n - 0.5)
    ax[2].set_ylim(n - 0.5, -0.5)
    history(ax[3], d["history"], "Adam")
    return fig


def distance(d):
    fig, ax = figure(1.2, 1)
    f, c = d["distance"], d["curve"]
    shown = ax[0].contourf(f, levels=np.arange(-0.6, 1.01, 0.1), extent=(-1, 1, -1, 1), cmap="RdBu",
                           norm=matplotlib.colors.CenteredNorm(), extend="both")
    ax[0].contour(f, levels=[0], extent=(-1, 1, -1, 1), colors=INK, linewidths=1.6)
    ax[0].scatter(c[:, 0], c[:, 1], s=6, color="white", edgecolor=INK, linewidth=0.5, zorder=3)
    ax[0].set_aspect("equal")
    ax[0].set_title("distance from 128 points, by a network")
    ax[0].set_xlabel("x")
    ax[0].set_ylabel("y")
    fig.colorbar(shown, ax=ax[0], label="signed distance")
    history(ax[1], d["history"], "Adam, with a second derivative", "loss")
    return fig


def cloth(d):
    path, goal = d["path"], d["goal"]
    fig = plt.figure(figsize=(9, 2.9), layout="constrained")
    times = [0, len(path) // 3, 2 * len(path) // 3, len(path) - 1]
    for k, t in enumerate(times):
        ax = fig.add_subplot(1, 4, k + 1, projection="3d")
        x = path[t]
        ax.plot_surface(x[..., 0], x[..., 1], x[..., 2], **CLOTH)
        if k == 3:
            ax.plot_wireframe(goal[..., 0], goal[..., 1], goal[..., 2], color=BLUE, linewidth=0.6, rstride=2, cstride=2)
        ax.set(xlim=(0, 1), ylim=(0, 1), zlim=(-0.3, 0.3), xticks=[0, 1], yticks=[0, 1], zticks=[-0.3, 0, 0.3])
        ax.text2D(0.86, 0.73, "z, m", transform=ax.transAxes)
        ax.set_box_aspect((1, 1, 0.6), zoom=0.88)
        ax.set_title(f"{0.012 * t:.2f} s" + (" and the goal (blue)" if k == 3 else ""))
        ax.set_xlabel("x, m", labelpad=-10)
        ax.set_ylabel("y, m", labelpad=-10)
        ax.view_init(24, -58)
        ax.tick_params(pad=-3, labelsize=7)
    return fig


def deblur(d):
    fig, ax = figure(1, 1, 1, 1.1)
    grey = {"cmap": "gray", "vmin": 0, "vmax": 1}
    image(ax[0], d["scene"], "what there is", **grey)
    image(ax[1], d["seen"], f"what is seen, {d['db'][0]:.1f} dB", **grey)
    image(ax[2], d["restored"], f"what explains it, {d['db'][1]:.1f} dB", **grey)
    history(ax[3], d["history"], "Adam", "loss")
    return fig


def raster(d):
    fig, ax = figure(1, 1, 1, 1, 1)
    steps = len(d["history"])
    for k in range(4):
        at = k * (steps - 1) // 3
        image(ax[k], d["frames"][k], f"step {at}, error {d['history'][at]:.1g}", interpolation="bilinear")
    image(ax[4], d["target"], "the goal", interpolation="bilinear")
    fig.set_size_inches(9, 2.1)
    return fig


def smoke(d):
    fig, ax = figure(1, 1, 1, 1, 1, height=2.3)
    n, path = d["goal"].shape[0], d["path"]
    how = {"cmap": "magma", "vmin": 0, "vmax": 1, "interpolation": "bilinear"}
    image(ax[0], np.hypot(*d["wind"]), "wind at the start", cmap="Greys", interpolation="bilinear")
    s = max(1, n // 14)
    y, x = np.mgrid[0:n:s, 0:n:s]
    ax[0].quiver(x, y, d["wind"][1][::s, ::s], -d["wind"][0][::s, ::s], color=BLUE, width=0.008)
    for k, t in enumerate((0, len(path) // 2, len(path) - 1)):
        image(ax[k + 1], path[t], f"smoke after {t + 1} steps" if t else "after 1 step", **how)
    image(ax[4], d["goal"], "the goal", **how)
    return fig


def field(d):
    fig, ax = figure(1, 1, 1, 1.15)
    image(ax[0], d["target"], "a picture")
    image(ax[1], d["early"], f"after {len(d['history']) // 10} steps")
    image(ax[2], d["picture"], f"after {len(d['history'])} steps")
    history(ax[3], d["history"], "Adam, random places")
    return fig


def digits(d):
    fig, ax = figure(2.3, 1)
    rows, columns = 6, 14
    sheet = np.zeros((rows * 17, columns * 17))
    for k in range(rows * columns):
        i, j = divmod(k, columns)
        sheet[17 * i:17 * i + 16, 17 * j:17 * j + 16] = d["x"][k]
    title = f"new digits, and how they are read: {100 * d['right']:.1f} % of {len(d['y']):,} right"
    image(ax[0], 1 - sheet, title, cmap="gray", vmin=0, vmax=1, interpolation="bilinear")
    for k in range(rows * columns):
        i, j = divmod(k, columns)
        good = d["read"][k] == d["y"][k]
        ax[0].text(17 * j + 15.5, 17 * i + 15.5, str(d["read"][k]), color=GREEN if good else RED, ha="right", va="bottom",
                   fontsize=8, fontweight="normal" if good else "bold")
    history(ax[1], d["history"], "Adam, 128 new digits a step", "cross entropy, nat")
    return fig


def newton(d):
    fig, ax = figure(1.35, 1)
    shown = ax[0].contourf(d["map"], levels=np.linspace(0, 1, 11), extent=(-1.5, 2.5, -1.05, 1.55), cmap="RdBu_r")
    ax[0].contour(d["map"], levels=[0.5], extent=(-1.5, 2.5, -1.05, 1.55), colors=INK)
    for label, colour in ((0, BLUE), (1, RED)):
        p = d["x"][d["y"] == label]
        ax[0].scatter(p[:, 0], p[:, 1], s=7, color=colour, edgecolor="white", linewidth=0.3)
    ax[0].set(title=f"two half moons, {100 * d['right']:.1f} % right", xlabel="x", ylabel="y")
    fig.colorbar(shown, ax=ax[0], label="probability of red")
    history(ax[1], d["newton"], "to the minimum", "length of the gradient")
    ax[1].lines[0].set_label("Newton-CG")
    ax[1].lines[0].set_marker("o")
    ax[1].plot(d["descent"], color=GREY, marker="o", label="gradient descent")
    ax[1].legend(frameon=False)
    return fig


def crf(d):
    fig, ax = plt.subplots(2, 1, figsize=(9, 2.9), sharex=True, layout="constrained",
                           gridspec_kw={"height_ratios": [1, 1.3]})
    t = np.arange(len(d["rolls"]))
    ax[0].scatter(t, d["rolls"], s=7, c=np.where(d["rolls"] == 6, RED, INK))
    ax[0].set(ylabel="roll", yticks=[1, 3, 6], title="what is seen: rolls of a croupier who changes dice (sixes red)")
    ax[1].fill_between(t, 0, d["dice"], step="mid", color=RED, alpha=0.2, label="the loaded die")
    ax[1].plot(t, d["probability"], color=BLUE, label="its probability: the gradient of log Z")
    ax[1].set(ylabel="probability", xlabel="roll number", ylim=(-0.03, 1.03), xlim=(0, len(t) - 1),
              title=f"what was thrown with, {100 * d['right']:.1f} % right")
    ax[1].legend(frameon=True, framealpha=0.85, loc="upper center", bbox_to_anchor=(0.52, 1.05), fontsize=8)
    return fig


SAMPLES = {f.__name__: f for f in (splats, distance, cloth, deblur, raster, smoke, field, digits, newton, crf)}


def run(name, tool, folder):
    program = ROOT / "samples" / "gallery" / f"{name}.sg"
    command = re.search(r"^#   spirograd run (\S+) (.*)$", program.read_text(encoding="utf-8"), re.M)[2].split()
    made = subprocess.run([tool, "run", program, *command, "--time"], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(f"{name}\n{made.stdout}", flush=True)
    made.check_returncode()


def save(fig, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(fig)
    Image.open(path).convert("RGB").save(path, optimize=True)


def sheet(folder):
    """A detail of each sample on one sheet."""
    d = {name: np.load(folder / f"{name}.npz") for name in SAMPLES}
    fig, axes = plt.subplots(2, 5, figsize=(9, 4), layout="constrained")
    ax = dict(zip(SAMPLES, axes.flat))
    image(ax["splats"], d["splats"]["picture"], "Gaussian splats", interpolation="bilinear")
    f = d["distance"]["distance"]
    ax["distance"].contourf(f, levels=24, cmap="RdBu", norm=matplotlib.colors.CenteredNorm())
    ax["distance"].contour(f, levels=[0], colors=INK)
    place = ax["cloth"].get_subplotspec()
    ax["cloth"].remove()
    ax["cloth"] = fig.add_subplot(place, projection="3d")
    x = d["cloth"]["path"][-1]
    ax["cloth"].plot_surface(x[..., 0], x[..., 1], x[..., 2], **CLOTH)
    ax["cloth"].set(xlim=(0.1, 0.8), ylim=(0.1, 0.9), zlim=(-0.25, 0.25))
    ax["cloth"].view_init(28, -58)
    ax["cloth"].set_axis_off()
    n = len(d["deblur"]["seen"])
    both = np.concatenate([d["deblur"]["seen"][:, :n // 2], d["deblur"]["restored"][:, n // 2:]], axis=1)
    image(ax["deblur"], both, "deblurring", cmap="gray", vmin=0, vmax=1)
    image(ax["raster"], d["raster"]["frames"][-1], "soft rasteriser", interpolation="bilinear")
    image(ax["smoke"], d["smoke"]["path"][-1], "smoke control", cmap="magma", interpolation="bilinear")
    image(ax["field"], d["field"]["picture"], "neural field", interpolation="bilinear")
    written = np.block([[d["digits"]["x"][5 * i + j] for j in range(5)] for i in range(5)])
    image(ax["digits"], 1 - written, "digits", cmap="gray", vmin=0, vmax=1, interpolation="bilinear")
    ax["newton"].contourf(d["newton"]["map"], levels=np.linspace(0, 1, 11), cmap="RdBu_r", extent=(-1.5, 2.5, -1.05, 1.55))
    for label, colour in ((0, BLUE), (1, RED)):
        p = d["newton"]["x"][d["newton"]["y"] == label]
        ax["newton"].scatter(p[:, 0], p[:, 1], s=2, color=colour)
    ax["newton"].set(xlim=(-1.2, 2.2), ylim=(-1.05, 1.55))
    ax["crf"].fill_between(np.arange(200), 0, d["crf"]["dice"], step="mid", color=RED, alpha=0.25)
    ax["crf"].plot(d["crf"]["probability"], color=BLUE, linewidth=1)
    titles = {"distance": "signed distance", "cloth": "cloth control", "newton": "Newton-CG", "crf": "random field"}
    for name, title in titles.items():
        ax[name].set_title(title)
        if name != "cloth":
            ax[name].set_xticks([])
            ax[name].set_yticks([])
            ax[name].set_box_aspect(1)
    return fig


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("names", nargs="*", default=list(SAMPLES))
    args.add_argument("--tool", default=ROOT / "build" / "release" / "tools" / "spirograd", type=pathlib.Path)
    args.add_argument("--keep", action="store_true")
    args.add_argument("--work", default=ROOT / "out" / "gallery", type=pathlib.Path)
    given = args.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    for name in given.names:
        if not given.keep or not (given.work / f"{name}.npz").exists():
            run(name, given.tool.resolve(), given.work)
        save(SAMPLES[name](np.load(given.work / f"{name}.npz")), PICTURES / f"{name}.png")
    if all((given.work / f"{name}.npz").exists() for name in SAMPLES):
        save(sheet(given.work), PICTURES.parent / "gallery.png")


main()
