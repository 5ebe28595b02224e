#!/usr/bin/env python3
"""Runs what README.md and its neighbours, docs/ and tests/golden/ show, and compares with what they say comes out.

  tools/check_docs.py --build build/release [FILE.md ...]    checks; names each block that differs
  tools/check_docs.py --build build/release --update         writes the outputs anew: git diff is the review
  tools/check_docs.py --extract FOLDER                       writes the blocks in C and C++ as files (the build does this)
  tools/check_docs.py --codes                                every error code of the sources stands in docs/debugging.md
  tools/check_docs.py --self-test                            plants mistakes and fails unless each is found

What is run:
  ```sh      whose lines all begin with `spirograd ` or `glslangValidator `; the ```text block behind it is the output
  ```cpp     or ```c, with int main(): built as docs_<file>_<number>; the ```text block behind it is the output
  ```cpp     behind a comment `<!-- before the code: ... -->`: compiled after that text, and a closing brace
  <!-- file: NAME -->            the block behind it is that file
  <!-- written to: NAME -->      the block behind it is a file for the commands of the document
  <!-- output of: COMMAND -->    everything up to <!-- end of output --> is the output
Links to files of the tree have to lead somewhere.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# language.md is checked by tests/unit/docs_language_test.cpp, except for its links.
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
BEFORE = re.compile(r"<!-- before the code:\n((?:(?!-->).)*)-->\s*\Z", re.S)
RUN = ("spirograd ", "glslangValidator ")
OUTPUT = re.compile(r"(<!-- output of: (.*?) -->\n)(.*?)(<!-- end of output -->)", re.S)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")


def documents(names=()):
    files = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md")),
             *sorted((ROOT / "tests" / "golden").glob("*.md"))]
    return [f for f in files if f.exists() and (not names or f.name in names)]


class Commands:
    """Runs shell commands beside copies of what the documents name; programs of the build are on the path."""

    def __init__(self, build):
        self.folder = tempfile.TemporaryDirectory()
        for name in ("samples", "docs", "tests"):
            os.symlink(ROOT / name, pathlib.Path(self.folder.name) / name)
        places = [build / p for p in ("", "tools", "tests")] if build else []
        path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
        self.env = dict(os.environ, PATH=path, SPIROGRAD_CACHE="", NO_COLOR="1")

    def write(self, name, text):
        pathlib.Path(self.folder.name, name).write_text(text, encoding="utf-8")

    def run(self, command):
        done = subprocess.run(["bash", "-c", "set -o pipefail\n" + command], cwd=self.folder.name, env=self.env, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        text = done.stdout
        if text and not text.endswith("\n"):
            text += "\n"
        return text, done.returncode


def cpp_programs(path, text):
    """(file, source, match) of each complete program, (file, source, None) of each fragment that compiles."""
    stem = re.sub(r"\W", "_", path.stem)
    for number, m in enumerate((b for b in BLOCK.finditer(text) if b[1] in ("c", "cpp")), 1):
        before = BEFORE.search(text, 0, m.start())
        if "int main(" in m[2]:
            yield f"docs_{stem}_{number}.{m[1]}", m[2], m
        elif before:
            yield f"docs_{stem}_{number}.{m[1]}", before[1] + m[2] + "}\n", None


def extract(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for path in documents():
        for name, source, whole in cpp_programs(path, path.read_text(encoding="utf-8")):
            file = folder / name
            if not file.exists() or file.read_text(encoding="utf-8") != source:
                file.write_text(source, encoding="utf-8")
            print(("program " if whole else "fragment ") + str(file))


def check_document(path, text, commands):
    """(complaints, text with outputs as they are now)."""
    wrong, edits = [], []
    line = lambda at: text.count("\n", 0, at) + 1

    def compare(command, have, at, start, end):
        if text[start:end] != have:
            edits.append((start, end, have))
            wrong.append(f"{path.name}:{line(at)}: the output of `{command}` is now\n{have}")

    def expect_output(command, at, block):
        have, status = commands.run(command)
        if status != 0:
            wrong.append(f"{path.name}:{line(at)}: `{command}` ends with status {status}\n{have}")
        elif block and block[1] == "text" and not text[at:block.start()].strip():
            compare(command, have, at, block.start(2), block.end(2))

    blocks = list(BLOCK.finditer(text))
    programs = {m.start(): name.rpartition(".")[0] for name, _, m in cpp_programs(path, text) if m}
    for block, following in zip(blocks, blocks[1:] + [None]):
        file = re.search(r"<!-- file: (\S+) -->\s*\Z", text[:block.start()])
        if file and (ROOT / file[1]).read_text(encoding="utf-8") != block[2]:
            wrong.append(f"{path.name}:{line(block.start())}: this is not {file[1]}")
        written = re.search(r"<!-- written to: (\S+) -->\s*\Z", text[:block.start()])
        if written:
            commands.write(written[1], block[2])
        lines = block[2].splitlines()
        if block[1] == "sh" and lines and all(l.startswith(RUN) for l in lines):
            expect_output(block[2].rstrip("\n"), block.end(), following)
        elif block.start() in programs:
            expect_output(programs[block.start()], block.end(), following)
    for m in OUTPUT.finditer(text):
        have, status = commands.run(m[2])
        if status != 0:
            wrong.append(f"{path.name}:{line(m.start())}: `{m[2]}` ends with status {status}\n{have}")
        else:
            compare(m[2], have, m.start(), m.start(3), m.end(3))
    for m in LINK.finditer(BLOCK.sub(lambda b: "\n" * b[0].count("\n"), text)):
        if "://" not in m[1] and not (path.parent / m[1]).exists():
            wrong.append(f"{path.name}: the link {m[1]} leads nowhere")
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return wrong, text


def check(names, build, update):
    commands, failed = Commands(build), False
    for path in documents(names):
        text = path.read_text(encoding="utf-8")
        wrong, new = check_document(path, text, commands)
        if update and new != text:
            path.write_text(new, encoding="utf-8")
            print(f"{path.name}: written anew")
            wrong, _ = check_document(path, new, commands)
        failed |= bool(wrong)
        print("".join(w.rstrip("\n") + "\n" for w in wrong), end="")
    if failed and not update:
        print("to accept: cmake --build build/release --target update_docs")
    return not failed


def check_codes(sources, document):
    code = re.compile(r"SG0\d\d\d\b")
    used = {c for text in sources for c in re.findall(r'"(SG0\d\d\d)"', text)}
    missing = sorted(used - set(code.findall(document)))
    return [f"docs/debugging.md does not list {c}" for c in missing]


def all_codes():
    sources = [p.read_text(encoding="utf-8") for top in ("frontend", "ad", "spirv", "vk_runtime", "tools")
               for p in (ROOT / top).rglob("*") if p.suffix in (".cpp", ".h") and p.name != "result.h"]
    return check_codes(sources, (ROOT / "docs/debugging.md").read_text(encoding="utf-8"))


def self_test():
    block = lambda kind, body: f"```{kind}\n{body}```\n"
    written = "<!-- written to: t -->\n" + block("text", "yes\n")
    cases = [  # document, number of complaints
        ("plain\n" + block("sh", "./tools/never\n"), 0),
        (block("sh", "spirograd yes\n") + "\n" + block("text", "yes\n"), 0),
        (block("sh", "spirograd yes\n") + block("text", "no\n"), 1),
        (block("sh", "spirograd yes | grep no\n") + block("text", ""), 1),
        (block("sh", "spirograd yes\n") + "prose\n" + block("text", "no\n"), 0),
        ("<!-- output of: spirograd a -->\na\n<!-- end of output -->\n", 0),
        ("<!-- output of: spirograd a -->\nb\n<!-- end of output -->\n", 1),
        (written + block("sh", "spirograd $(cat t)\n") + block("text", "yes\n"), 0),
        (written + block("sh", "spirograd $(cat t)\n") + block("text", "no\n"), 1),
        ("<!-- file: LICENSE -->\n" + block("text", "something else\n"), 1),
        ("[there](README.md) [nowhere](nothing.md) [far](https://example.org)\n", 1),
    ]
    ok = check_codes(['Error("SG0101", x)', '"SG0999"'], "SG0101") == ["docs/debugging.md does not list SG0999"]
    with tempfile.TemporaryDirectory() as folder:
        tool = pathlib.Path(folder) / "spirograd"
        tool.write_text('#!/bin/sh\necho "$1"\n')
        tool.chmod(0o755)
        for text, complaints in cases:
            wrong, new = check_document(ROOT / "x.md", text, Commands(pathlib.Path(folder)))
            if len(wrong) != complaints:
                print("self-test:", repr(text), "gives", wrong)
                ok = False
    return ok


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("files", nargs="*")
    args.add_argument("--build", type=pathlib.Path)
    args.add_argument("--update", action="store_true")
    args.add_argument("--extract", type=pathlib.Path)
    args.add_argument("--codes", action="store_true")
    args.add_argument("--self-test", action="store_true")
    given = args.parse_args()
    if given.extract:
        extract(given.extract)
        return True
    if given.self_test:
        return self_test()
    if given.codes:
        missing = all_codes()
        print("\n".join(missing))
        return not missing
    if not given.build:
        args.error("--build names the folder of the built programs")
    return check([pathlib.Path(f).name for f in given.files], given.build.resolve(), given.update)


sys.exit(0 if main() else 1)
