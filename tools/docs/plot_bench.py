#!/usr/bin/env python3
"""Draws the figures of bench/README.md as docs/pictures/speed.png: milliseconds of each program and of its gradient.

  tools/docs/plot_bench.py

Needs Matplotlib (python3-matplotlib of Debian), as the gallery's pictures do, and no test.
"""
import pathlib

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INK, RED, BLUE, GREY = "#22252b", "#c8452f", "#2f6db5", "#c9ced6"
# What the text below the table says that hands reach: (row, is it of the gradient, milliseconds). 47 GFLOP/s where 60 were
# reached.
BY_HAND = {"2048 x 2048 matrices": (False, 366 * 47 / 60), "mixture, n = 10,000, d = 20, K = 50": (True, 14)}


def rows():
    """(program, value ms, gradient ms or None) of the first table."""
    text = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    table = text[text.index("| program | value: before"):]
    for line in table[:table.index("\n\n")].splitlines()[2:]:
        name, _, value, _, gradient = [cell.strip() for cell in line.split("|")[1:6]]
        number = lambda cell: float(cell.replace(",", "")) if cell else None
        yield name.replace("`", ""), number(value), number(gradient)


def main():
    all_rows = list(rows())[::-1]
    fig, ax = plt.subplots(figsize=(9, 6.6), layout="constrained")
    for k, (name, value, gradient) in enumerate(all_rows):
        if gradient:
            ax.plot([value, gradient], [k, k], color=GREY, linewidth=2.5, zorder=1)
            ax.scatter(gradient, k, color=RED, s=26, zorder=2)
        ax.scatter(value, k, color=BLUE, s=26, zorder=3)
        if name in BY_HAND:
            ax.scatter(BY_HAND[name][1], k, color=RED if BY_HAND[name][0] else BLUE, s=60, marker="|", linewidth=2, zorder=4)
    for label, how in (("value", {"color": BLUE}), ("value and gradient", {"color": RED}),
                       ("what hands reached, where they were faster", {"color": INK, "marker": "|", "linewidth": 2})):
        ax.scatter([], [], label=label, **how)
    ax.set_xscale("log")
    ax.set_yticks(range(len(all_rows)), [name for name, _, _ in all_rows])
    ax.set_xlabel("milliseconds of a replay, median; to the left is faster")
    ax.set_title("lavapipe of Mesa 25.0.7, two cores of a shared server, 2026-11-22")
    ax.grid(axis="x", alpha=0.35)
    ax.legend(loc="lower right", frameon=True)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    fig.savefig(ROOT / "docs" / "pictures" / "speed.png", dpi=100, metadata={"Software": None})


main()
