#!/usr/bin/env python3
"""Sizes of source files: more than 400 lines fail. In tests, samples and benchmarks they are a warning, and more than 700
fail. In C++ and Python, a line of more than 125 columns fails, of more than 180 in tables. Tables are what stands between
`clang-format off` and `on`: rows, so no loops, and every fence is closed.

  tools/check_sizes.py              checks this tree
  tools/check_sizes.py --quiet      without the warnings
  tools/check_sizes.py --self-test  plants violations and fails unless each is found
"""
import pathlib
import re
import sys
import tempfile

FOLDERS = ("frontend", "ad", "spirv", "vk_runtime", "tools", "samples", "tests", "bench", "cmake", "python")
PRODUCTION = ("frontend/", "ad/", "spirv/", "vk_runtime/", "tools/", "python/spirograd/")
SUFFIXES = {".cpp", ".h", ".comp", ".py", ".cmake", ".sg"}
WIDE_SUFFIXES = {".cmake", ".sg", ".comp"}
SOFT, HARD, WIDTH, ROW_WIDTH = 400, 700, 125, 180
LOOP = re.compile(r"\s*(for|while|do)\b")


def check_file(name, text):
    """(errors, warnings) of one file."""
    errors, warnings = [], []
    lines = text.splitlines()
    limit = SOFT if name.startswith(PRODUCTION) else HARD
    if len(lines) > limit:
        errors.append(f"{name}: {len(lines)} lines, the limit is {limit}: split it by what it answers")
    elif len(lines) > SOFT:
        warnings.append(f"{name}: {len(lines)} lines, more than {SOFT}")
    fence = 0  # line where the open fence began
    for number, line in enumerate(lines, 1):
        if line.strip() == "// clang-format off":
            fence = number
        elif line.strip() == "// clang-format on":
            fence = 0
        elif fence and LOOP.match(line):
            errors.append(f"{name}:{number}: a loop between `clang-format off` and `on`: fences are for tables")
        width = ROW_WIDTH if fence else WIDTH
        if len(line) > width and not name.endswith(tuple(WIDE_SUFFIXES)):
            errors.append(f"{name}:{number}: {len(line)} columns, the limit is {width}")
    if fence:
        errors.append(f"{name}:{fence}: `clang-format off` without `on`")
    return errors, warnings


def check(root):
    errors, warnings = [], []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                e, w = check_file(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))
                errors += e
                warnings += w
    return errors, warnings


def self_test():
    off, on = "// clang-format off\n", "// clang-format on\n"
    cases = {
        "ad/good.cpp": ("x\n" * SOFT, 0, 0),
        "ad/wide_row.cpp": (off + "y" * ROW_WIDTH + "\n" + on, 0, 0),
        "ad/long.cpp": ("x\n" * (SOFT + 1), 1, 0),
        "tests/long.cpp": ("x\n" * (SOFT + 1), 0, 1),
        "tests/too_long.cpp": ("x\n" * (HARD + 1), 1, 0),
        "ad/wide.cpp": ("y" * (WIDTH + 1) + "\n", 1, 0),
        "ad/too_wide_row.cpp": (off + "y" * (ROW_WIDTH + 1) + "\n" + on, 1, 0),
        "ad/loop_in_table.cpp": (off + "  for (;;) {}\n" + on, 1, 0),
        "ad/open.cpp": (off, 1, 0),
    }
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, (text, want_errors, want_warnings) in cases.items():
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text(text)
            errors, warnings = check(root)
            if (len(errors), len(warnings)) != (want_errors, want_warnings):
                print(f"self-test: {name}: found {errors} and {warnings}")
                ok = False
            (root / name).unlink()
    return ok


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    errors, warnings = check(pathlib.Path(__file__).resolve().parent.parent)
    if sys.argv[1:] != ["--quiet"]:
        print("\n".join("warning: " + w for w in warnings))
    print("\n".join(errors))
    sys.exit(1 if errors else 0)


main()
