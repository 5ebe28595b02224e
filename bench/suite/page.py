"""The page of a run: one table and one plot, as HTML that needs nothing else."""
import html
import math

COLOURS = {"spirograd": "#1b6ca8", "jax": "#e08e0b", "torch": "#b23a48"}
ROW, LEFT, WIDTH = 16, 300, 900


def number(x):
    return "" if x is None else f"{x:.3g}"


def rows_of(result):
    """(program, value or gradient, {who: milliseconds})"""
    for case in result["cases"]:
        for mode in ("value", "gradient"):
            if mode in case["spirograd"]:
                times = {"spirograd": case["spirograd"][mode]["milliseconds"]}
                times.update({peer: t[mode] for peer, t in case["peers"].items() if mode in t})
                yield case["name"], mode, times


def table(result):
    peers = [p for p in ("jax", "torch") if any(p in c["peers"] for c in result["cases"])]
    head = ["program", "", "ms", "of copy speed", "of full arithmetic", "first call, ms", "scratch, MB"]
    head += [f"{p}, ms" for p in peers] + (["of the fastest peer"] if peers else [])
    lines = ["<tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr>"]
    cases = {c["name"]: c for c in result["cases"]}
    for name, mode, times in rows_of(result):
        own = cases[name]["spirograd"][mode]
        cells = [name, mode, number(own["milliseconds"]), number(own["memory_share"]), number(own["arithmetic_share"]),
                 number(own["first_milliseconds"]), number(own["scratch_bytes"] / 1e6)]
        cells += [number(times.get(p)) for p in peers]
        others = [times[p] for p in peers if p in times]
        if peers:
            cells.append(number(own["milliseconds"] / min(others)) if others else "")
        lines.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def plot(result):
    """Milliseconds on a logarithmic scale, a mark for each who has run a program."""
    rows = list(rows_of(result))
    all_times = [t for _, _, times in rows for t in times.values()]
    low, high = math.floor(math.log10(min(all_times))), math.ceil(math.log10(max(all_times)))
    place = lambda t: LEFT + (math.log10(t) - low) / max(1, high - low) * (WIDTH - LEFT - 40)
    height = ROW * (len(rows) + 3)
    font = 'font-family="sans-serif" font-size="11"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {font}>']
    for power in range(low, high + 1):
        x = place(10.0**power)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{ROW}" y2="{height - ROW}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{height - 4}" text-anchor="middle">{10.0**power:g} ms</text>')
    for j, (name, mode, times) in enumerate(rows):
        y = ROW * (j + 2)
        out.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{html.escape(name)}, {mode}</text>')
        ends = [place(t) for t in times.values()]
        out.append(f'<line x1="{min(ends):.1f}" x2="{max(ends):.1f}" y1="{y}" y2="{y}" stroke="#aaa"/>')
        out += [f'<circle cx="{place(t):.1f}" cy="{y}" r="4" fill="{COLOURS[who]}"/>' for who, t in times.items()]
    shown = [who for who in COLOURS if any(who in times for _, _, times in rows)]
    for j, who in enumerate(shown):
        out.append(f'<circle cx="{LEFT + 90 * j}" cy="8" r="4" fill="{COLOURS[who]}"/>')
        out.append(f'<text x="{LEFT + 90 * j + 8}" y="12">{who}</text>')
    return "\n".join(out) + "\n</svg>"


def page(result):
    about = ", ".join(str(result[k]) for k in ("device", "driver", "machine", "date"))
    limits = result["limits"]
    return f"""<!doctype html>
<meta charset="utf-8"><title>Spirograd: {html.escape(result["device"])}</title>
<style>body {{ font-family: sans-serif; max-width: 60em; margin: 2em auto }}
td, th {{ padding: 2px 8px; text-align: right }} td:first-child, td:nth-child(2) {{ text-align: left }}
tr:nth-child(even) {{ background: #f4f4f4 }}</style>
<h1>Spirograd</h1>
<p>{html.escape(about)}. The device copies {limits["bytes_per_second"] * 1e-9:.3g} GB/s and computes
{limits["operations_per_second"] * 1e-9:.3g} Gop/s in kernels that do nothing else; <i>of copy speed</i> and <i>of full
arithmetic</i> say how near the time of a replay is to what the least bytes and the operations take then. Times are
medians of replays that leave the data on the device; a gradient is that of the sum of squares where the value is no scalar,
and comes with it. {html.escape(result["peers"])}</p>
{plot(result)}
{table(result)}
"""
