#!/usr/bin/env python3
"""What published work on derivatives of array programs describes, and what of it works here: docs/coverage.md is made from
tests/coverage/rows.txt, and what a row says is shown by a test that exists.

  tools/check_coverage.py              checks the rows, and that the page is what they give
  tools/check_coverage.py --fix        writes the page anew: git diff is the review
  tools/check_coverage.py --self-test  plants mistakes and fails unless each is found

The rows: `== TITLE` begins a document, the lines behind it up to an empty one are its introduction, `#` begins a comment.
A row is
  idea | works, in part or no | how it is here, or why it is not | tests
Tests are TEST(Suite, Name), written Suite.Name, or files of the tree; what works names one or more.
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

ROWS, PAGE = "tests/coverage/rows.txt", "docs/coverage.md"
VERDICTS = ("works", "in part", "no")
TEST = re.compile(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", re.M)
HEAD = """# Coverage

What five published works on derivatives of programs describe, and what of it works here. Each row is an idea, in words of
this project: **works** where the tests named in it show it, **in part** with what is lacking, **no** with the reason.
`ctest -R Suite.Name` runs a test. The page is made from [rows](../tests/coverage/rows.txt) by `tools/check_coverage.py`,
which is a test, too: it fails where a test is named that does not exist, and where something is said to work and no test
is named.

"""


def tests_of(root):
    files = (p for p in sorted((root / "tests").rglob("*")) if p.suffix in (".cpp", ".h"))
    return {".".join(m) for p in files for m in TEST.findall(p.read_text(encoding="utf-8"))}


def parse(text):
    """([[title, introduction, rows]], complaints); a row is (line, idea, verdict, how, tests)."""
    documents, wrong, introduction = [], [], False
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        cells = [c.strip() for c in line.split("|")]
        if line.startswith("#"):
            continue
        if line.startswith("=="):
            documents.append([line.removeprefix("==").strip(), [], []])
            introduction = True
        elif not line:
            introduction = False
        elif not documents:
            wrong.append(f"{ROWS}:{number}: stands before the first document")
        elif introduction:
            documents[-1][1].append(line)
        elif len(cells) != 4 or not all(cells[:3]):
            wrong.append(f"{ROWS}:{number}: a row is `idea | verdict | how | tests`")
        elif cells[1] not in VERDICTS:
            wrong.append(f"{ROWS}:{number}: {cells[1]!r} is none of {', '.join(VERDICTS)}")
        else:
            named = [t.strip() for t in cells[3].split(",") if t.strip()]
            documents[-1][2].append((number, *cells[:3], named))
    return documents, wrong


def check_rows(documents, known, root):
    wrong, ideas = [], {}
    for title, _, rows in documents:
        if not rows:
            wrong.append(f"{ROWS}: {title!r} has no rows")
        for number, idea, verdict, _, named in rows:
            if verdict == "works" and not named:
                wrong.append(f"{ROWS}:{number}: works, but no test shows it: {idea}")
            if ideas.setdefault((title, idea), number) != number:
                wrong.append(f"{ROWS}:{number}: stands in line {ideas[title, idea]} already: {idea}")
            for test in named:
                if test not in known and not ("/" in test and (root / test).is_file()):
                    wrong.append(f"{ROWS}:{number}: there is no test and no file {test}")
    return wrong


def shown(test):
    return f"[{test}]({os.path.relpath(test, pathlib.Path(PAGE).parent.as_posix())})" if "/" in test else f"`{test}`"


def page(documents):
    counts = [[sum(row[2] == v for row in rows) for v in VERDICTS] for _, _, rows in documents]
    letters = [chr(ord("A") + k) for k in range(len(documents))]
    lines = ["| | document | ideas | work | in part | no |", "|---|---|---|---|---|---|"]
    for letter, (title, _, rows), n in zip(letters, documents, counts):
        lines.append(f"| {letter} | {title} | {len(rows)} | {n[0]} | {n[1]} | {n[2]} |")
    total = [sum(n) for n in zip(*counts)]
    lines.append(f"| | **all** | **{sum(total)}** | **{total[0]}** | **{total[1]}** | **{total[2]}** |")
    for letter, (title, introduction, rows) in zip(letters, documents):
        lines += ["", f"## {letter}. {title}", "", *introduction, "", "| | idea | | how it is here | shown by |",
                  "|---|---|---|---|---|"]
        for k, (_, idea, verdict, how, named) in enumerate(rows, 1):
            lines.append(f"| {letter}{k} | {idea} | {verdict} | {how} | {', '.join(map(shown, named))} |")
    return HEAD + "\n".join(lines) + "\n"


def check(root, fix):
    documents, wrong = parse((root / ROWS).read_text(encoding="utf-8"))
    wrong += check_rows(documents, tests_of(root), root)
    want, file = page(documents) if documents else HEAD, root / PAGE
    if wrong:
        return wrong
    if not file.exists() or file.read_text(encoding="utf-8") != want:
        if not fix:
            return [f"{PAGE} is not what {ROWS} gives; to accept: tools/check_coverage.py --fix"]
        file.write_text(want, encoding="utf-8", newline="\n")
    return []


def self_test():
    good = "# a comment\n== One\nWhat it is.\n\nidea | works | so | Suite.Name\nother | no | because |\n"
    cases = [  # rows, number of complaints
        (good, 0),
        (good + "file | works | so | tests/a_test.cpp, Suite.Other, Typed.Name\n", 0),
        (good + "third | works | so |\n", 1),
        (good + "third | in part | so |\n", 0),
        (good + "third | works | so | Suite.Missing\n", 1),
        (good + "third | works | so | Suite.Gone\n", 1),
        (good + "third | no | so | docs/missing.md\n", 1),
        (good + "third | nearly | so | Suite.Name\n", 1),
        (good + "third | works | so\n", 1),
        (good + "third | no | |\n", 1),
        (good + "idea | no | so |\n", 1),
        (good + "\n== Two\n", 1),
        ("idea | no | so |\n" + good, 1),
    ]
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tests/coverage").mkdir(parents=True)
        (root / "docs").mkdir()
        (root / "tests/a_test.cpp").write_text("TEST(Suite, Name) {}\n  TEST_F(Suite,\n         Other) {}\n"
                                               "TYPED_TEST(Typed, Name) {}\n// TEST(Suite, Gone) {}\n")
        for text, complaints in cases:
            (root / ROWS).write_text(text)
            (root / PAGE).write_text(page(parse(text)[0]))
            wrong = check(root, False)
            if len(wrong) != complaints:
                print("self-test:", repr(text[len(good):]), "gives", wrong)
                ok = False
        (root / ROWS).write_text(good)
        (root / PAGE).write_text("| A1 | idea | works |")
        stale, fixed, after = check(root, False), check(root, True), check(root, False)
        if len(stale) != 1 or fixed or after or "| **2** | **1** | **0** | **1** |" not in (root / PAGE).read_text():
            print("self-test: a stale page gives", stale, fixed, after)
            ok = False
    return ok


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--fix", action="store_true")
    args.add_argument("--self-test", action="store_true")
    given = args.parse_args()
    if given.self_test:
        return self_test()
    wrong = check(pathlib.Path(__file__).resolve().parent.parent, given.fix)
    print("".join(w + "\n" for w in wrong), end="")
    return not wrong


sys.exit(0 if main() else 1)
