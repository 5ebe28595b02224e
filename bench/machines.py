#!/usr/bin/env python3
"""What a step takes on many machines: the formula of docs/several-devices.md, and a simulation of each message beside it.

  bench/machines.py                 the table
  bench/machines.py --check FILE    fails unless the table stands in FILE, and formula and simulation agree
"""
import argparse
import math
import random
import statistics
import sys

COMPUTE = 50e-3   # seconds of a step on one machine
NOISE = 0.03      # standard deviation of that, as a part of it
BYTES = 4e6       # of the bucket: a million f32
LATENCY = 10e-6   # seconds of a message
BANDWIDTH = 3e9   # bytes per second of a link
MACHINES = (1, 4, 16, 64, 256, 1000)
AGREES = 0.02     # of the whole


def slowest(n):
    """Expected maximum of n normal numbers, in standard deviations (Blom 1958)."""
    return statistics.NormalDist().inv_cdf((n - 0.375) / (n + 0.25)) if n > 1 else 0.0


def formula(n):
    """Waiting for the slowest, then 2 (n - 1) messages of a part of the bucket, one after the other."""
    straggler = COMPUTE * (1 + NOISE * slowest(n))
    latency = 2 * (n - 1) * LATENCY
    bandwidth = 2 * (n - 1) / n * BYTES / BANDWIDTH
    return straggler, latency, bandwidth


def simulated(n, random_numbers):
    """A ring: in each round each machine sends a part to the next, when both have ended the round before."""
    times = [COMPUTE * (1 + NOISE * random_numbers.gauss(0, 1)) for _ in range(n)]
    message = LATENCY + BYTES / n / BANDWIDTH
    for _ in range(2 * (n - 1)):
        before = times[-1:] + times[:-1]
        times = [(own if own > other else other) + message for own, other in zip(times, before)]
    return max(times)


def mean_simulated(n, steps):
    random_numbers = random.Random(n)
    return statistics.fmean(simulated(n, random_numbers) for _ in range(steps))


def table(rows):
    out = ["| machines | slowest | latency | bandwidth | step | simulated | efficiency |", "|---|---|---|---|---|---|---|"]
    for n, parts, seen in rows:
        cells = [*(f"{1e3 * p:.1f}" for p in (*parts, sum(parts), seen)), f"{100 * COMPUTE / sum(parts):.0f} %"]
        out.append(f"| {n} | " + " | ".join(cells) + " |")
    return "\n".join(out) + "\n"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--check")
    given = arguments.parse_args()
    rows, wrong = [], []
    for n in MACHINES:
        parts = formula(n)
        seen = mean_simulated(n, steps=max(2, 500 // n))
        rows.append((n, parts, seen))
        if abs(seen - sum(parts)) > AGREES * sum(parts):
            wrong.append(f"{n} machines: the formula says {1e3 * sum(parts):.2f} ms, the simulation {1e3 * seen:.2f} ms")
    text = table(rows)
    if given.check and text not in open(given.check, encoding="utf-8").read():
        wrong.append(f"{given.check} does not have this table:\n{text}")
    if not given.check:
        print(text, end="")
    print("\n".join(wrong), end="\n" if wrong else "")
    sys.exit(1 if wrong else 0)


main()
