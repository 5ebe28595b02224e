#!/usr/bin/env python3
"""Words that do not belong into this tree: notes to oneself, paths of one machine, second spellings; and in what is shipped,
C++ that not every compiler has.

  tools/check_words.py              checks this tree
  tools/check_words.py --self-test  plants violations and fails unless each is found
"""
import pathlib
import re
import shutil
import subprocess
import sys

# Pattern -> what to do instead. The patterns are written so that they do not match themselves.
WORDS = {
    r"\b(TO[D]O|FIX[M]E|XX[X]|HAC[K])\b": "do it, or file it",
    r"(?<![\w.])/(hom[e]|roo[t]|wor[k]|User[s])/\w": "a path of one machine",
    r"(?i)\bvectori[z]|\bmateriali[z]": "spell vectorise, materialise",
    r"[ \t]+\n": "blanks at the end of the line",
    r"\r": "line ends are \\n",
}
# The same for the C++ of SHIPPED: a compiler without GNU extensions builds it, and no order of initialisation matters.
SHIPPED = ("frontend/", "ad/", "spirv/", "vk_runtime/", "tools/")
PORTABLE = {
    r"\b__int128\b": "64 bits; frontend/base/checked.h has products that stop at their ends",
    r"\b__builtin_(?!FILE\b|LINE\b)\w+": "only GCC and Clang have it; frontend/base/checked.h has checked arithmetic",
    r"\b__attribute__\b": "an attribute of the standard",
    r"(?m)^(?:static |inline )*const (?:std::(?:vector|string|map|set|unordered_\w+|function)\b|auto\b)[^;(\n]*[={].*":
        "a constexpr array, or a function: this is initialised when the program starts",
}
SUFFIXES = {".cpp", ".h", ".comp", ".py", ".cmake", ".sg", ".md", ".txt", ".json", ".in", ".sh", ""}
EXEMPT = {"LICENSE"}


def complaints(name, text):
    patterns = dict(WORDS)
    if name.startswith(SHIPPED) and name.endswith((".h", ".cpp")):
        patterns |= PORTABLE
    for pattern, advice in patterns.items():
        for m in re.finditer(pattern, text):
            line = text.count("\n", 0, m.start()) + 1
            yield f"{name}:{line}: {m[0].strip()!r}: {advice}"


def check(root):
    tracked = ""
    if shutil.which("git"):
        tracked = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True).stdout
    if tracked:
        names = [f for f in tracked.split("\0") if f]
    else:  # no git, or an unpacked archive
        skip = {"build", "out", ".cache", ".git"}
        paths = [p.relative_to(root) for p in root.rglob("*") if p.is_file()]
        names = [p.as_posix() for p in paths if not skip & set(p.parts)]
    found = []
    for name in sorted(names):
        path = root / name
        if path.suffix in SUFFIXES and name not in EXEMPT and path.is_file():
            found += complaints(name, path.read_text(encoding="utf-8", errors="replace"))
    return found


def self_test():
    bad = ["// TO" + "DO: later\n", "/ho" + "me/me/x\n", "vectori" + "ze\n", "blank \n", "dos\r\n"]
    good = "vectorise /tmp/x build/wor" + "k/x TODOS\n"
    hostile = ["__int128 x;\n", "return __builtin_clz(x);\n", "__attribute__((packed)) int x;\n",
               "x;\nconst std::vector<Op> kOps = {Op::Add};\n", "static const std::string kName{\"x\"};\n",
               "const auto kAll = all();\n"]
    portable = ("int line = __builtin_LINE()\nconst std::vector<Op>& ops() {\n  static const std::vector<Op> all = {};\n"
                "constexpr auto kAll = all();\nconst std::string& name(int x = 0);\n")
    missed = [b for b in bad if not list(complaints("x", b))]
    missed += [h for h in hostile if not list(complaints("ad/x.cpp", h))]
    blamed = list(complaints("x", good)) + list(complaints("ad/x.cpp", portable))
    blamed += [c for h in hostile for c in complaints("tests/x.cpp", h)]
    if missed or blamed:
        print("self-test: missed", missed, "blamed", blamed)
    return not missed and not blamed


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    found = check(pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
