#!/usr/bin/env python3
"""Whether clang-format would change a source file. Only its version 14 is asked: others format in other ways.

  tools/check_format.py PROGRAM              checks this tree
  tools/check_format.py PROGRAM --fix        formats it
  tools/check_format.py PROGRAM --self-test  formats a planted file, and fails unless that is noticed
"""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = "version 14."


def sources():
    names = subprocess.run(["git", "ls-files", "-z", "*.cpp", "*.h"], cwd=ROOT, capture_output=True, text=True)
    if names.returncode == 0 and names.stdout:
        return [ROOT / n for n in names.stdout.split("\0") if n and (ROOT / n).is_file()]
    folders = ["frontend", "ad", "spirv", "vk_runtime", "tools", "tests", "samples", "bench"]  # an archive of the tree
    return [p for f in folders for s in ("*.cpp", "*.h") for p in (ROOT / f).rglob(s)]


def changed(program, files):
    command = [program, "--dry-run", "-Werror", "--style=file", "--fallback-style=none", *map(str, files)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stderr
    return sorted({line.split(":")[0] for line in said.splitlines() if "code should be clang-formatted" in line})


def self_test(program):
    with tempfile.TemporaryDirectory(dir=ROOT) as folder:
        good, bad = pathlib.Path(folder) / "good.cpp", pathlib.Path(folder) / "bad.cpp"
        good.write_text("int f(int a) { return a; }\n", encoding="utf-8")
        bad.write_text("int f( int a ){return a;}\n", encoding="utf-8")
        found = changed(program, [good, bad])
    ok = found == [str(bad)]
    print("ok" if ok else f"FAILED: found {found}")
    return 0 if ok else 1


def main():
    program = sys.argv[1]
    version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    if VERSION not in version:
        sys.exit(f"error: {program} is {version.strip()}, not {VERSION}x")
    if "--self-test" in sys.argv:
        return self_test(program)
    if "--fix" in sys.argv:
        subprocess.run([program, "-i", "--style=file", *map(str, sources())], cwd=ROOT, check=True)
        return 0
    names = changed(program, sources())
    for name in names:
        print(f"{pathlib.Path(name).relative_to(ROOT)}: clang-format would change it")
    if names:
        print(f"help: {sys.argv[0]} {program} --fix")
    return 1 if names else 0


if __name__ == "__main__":
    sys.exit(main())
