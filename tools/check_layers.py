#!/usr/bin/env python3
"""Who may include whom: fails when a source file includes a header of a layer that it must not know, or one of an operating
system outside of the files for that system.

  tools/check_layers.py              checks this tree
  tools/check_layers.py --self-test  plants violations and fails unless each is found
"""
import pathlib
import re
import sys
import tempfile

# Layer -> layers it may include besides itself. The table of docs/architecture.md.
ALLOWED = {
    "base": set(),
    "ir": {"base"},
    "rewrite": {"base", "ir"},
    "text": {"base", "ir", "ad"},
    "dsl": {"base", "ir", "ad"},
    "ad": {"base", "ir", "rewrite"},
    "executable": {"base"},
    "kernel": {"base"},
    "emit": {"base", "executable", "kernel"},
    "probes": {"base", "executable", "kernel", "emit"},
    "schedule": {"base", "executable"},
    "lower": {"base", "ir", "rewrite", "executable", "kernel", "schedule"},
    "compile": {"base", "ir", "rewrite", "executable", "kernel", "emit", "schedule", "lower"},
    "vk": {"base", "executable"},
    "tune": {"base", "executable", "schedule", "lower", "compile", "vk"},
    "jit": {"base", "dsl", "executable", "compile", "vk"},
    "shards": {"base", "ir", "executable", "compile", "vk"},
    "mpi": {"base", "executable", "compile", "vk", "shards"},
    "c": {"base", "text", "ad", "executable", "compile", "vk"},
}

# Folder -> layer; the longest match counts. Folders that are not named here (tools, samples, tests) may include everything.
FOLDERS = {
    "frontend/base": "base", "frontend/ir": "ir", "frontend/rewrite": "rewrite", "frontend/text": "text",
    "frontend/dsl": "dsl", "ad": "ad", "spirv/executable": "executable", "spirv/kernel": "kernel", "spirv/emit": "emit",
    "spirv/probes": "probes", "spirv/schedule": "schedule", "spirv/lower": "lower", "spirv": "compile", "vk_runtime": "vk",
    "vk_runtime/tune": "tune", "vk_runtime/jit": "jit", "vk_runtime/shards": "shards", "vk_runtime/mpi": "mpi",
    "vk_runtime/c": "c",
}
# Public headers: those of a folder include/spirograd belong to several layers.
PUBLIC = {
    "dtype.h": "base", "shape.h": "base", "result.h": "base", "program.h": "base", "host_array.h": "base",
    "array_text.h": "base", "own_kernel.h": "base",
    "array.h": "dsl", "build.h": "dsl", "bundle.h": "dsl", "derivatives.h": "dsl", "loops.h": "dsl", "ravel.h": "dsl",
    "ops.h": "dsl", "trace.h": "dsl",
    "keep.h": "base", "text.h": "text", "grad.h": "ad", "split.h": "ad", "check.h": "ad",
    "target.h": "executable", "requirements.h": "executable", "executable.h": "executable", "compile.h": "compile",
    "bundle_file.h": "executable", "choices.h": "executable", "vk.h": "vk", "tune.h": "tune", "jit.h": "jit",
    "shards.h": "shards", "ranks.h": "mpi", "spirograd.h": "c",
}
# Headers of other projects. Everything else in angle brackets has to be of the standard library.
FOREIGN = {"vulkan/": {"vk"}, "volk.h": {"vk"}, "spirv/unified1/": {"emit"}, "spirv-tools/": {"emit"},
           "mpi.h": {"mpi"}, "stddef.h": {"c"}, "stdint.h": {"c"}}
# Headers of one operating system, and the names of the files that may include them. Tests of POSIX may, too.
SYSTEM = re.compile(
    r"(sys|mach|mach-o|linux|asm|bits|arpa|net|netinet|android)/.*"
    r"|(unistd|fcntl|dlfcn|spawn|signal|poll|dirent|glob|ftw|pwd|grp|termios|pthread|sched|semaphore|execinfo|link|malloc"
    r"|crt_externs|alloca|strings|features|sysexits|syslog|langinfo|iconv|regex|utime"
    r"|windows|io|process|direct|conio|shlobj|psapi|winsock2)\.h",
    re.I)
SYSTEM_FILES = re.compile(r".*_(posix|windows)\.cpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def layer_of(path):
    """Layer of a path relative to the root, or None."""
    if "include/spirograd/" in path:
        return PUBLIC.get(path.rsplit("/", 1)[1])
    best = max((f for f in FOLDERS if path.startswith(f + "/")), key=len, default=None)
    return FOLDERS.get(best)


def complaint(root, layer, folder, quote, header):
    """What is wrong with one include, or None."""
    if header.startswith("spirograd/"):
        target = PUBLIC.get(header.removeprefix("spirograd/"))
        if target is None:
            return f"<{header}> is in no layer; add it to PUBLIC in tools/check_layers.py"
    elif quote == "<":
        for prefix, users in FOREIGN.items():
            if header.startswith(prefix):
                return None if layer in users else f"<{header}> is for {', '.join(sorted(users))} only"
        known = re.fullmatch(r"[a-z_0-9]+", header) or SYSTEM.fullmatch(header)
        return None if known else f"<{header}> is not of the standard library"
    else:
        if not (root / header).exists():
            return f'"{header}" does not exist; includes are written from the root of the tree'
        target = layer_of(header)
        if target is None:
            return f'"{header}" is outside of the libraries'
    if target == layer or target in ALLOWED[layer]:
        return None
    return f"{layer} must not include {target} (\"{header}\")"


def check_systems(root):
    """Headers of one system in files that are compiled on all."""
    found = []
    for top in ("frontend", "ad", "spirv", "vk_runtime", "tools", "samples", "bench"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".cpp", ".h") or SYSTEM_FILES.fullmatch(path.name):
                continue
            text = path.read_text(encoding="utf-8")
            found += [f"{path.relative_to(root).as_posix()}:{text.count(chr(10), 0, m.start(2)) + 1}: "
                      f"<{m[2]}> belongs into a file named *_posix.cpp or *_windows.cpp"
                      for m in INCLUDE.finditer(text) if m[1] == "<" and SYSTEM.fullmatch(m[2])]
    return found


def check_layers(root):
    found = []
    for top in ("frontend", "ad", "spirv", "vk_runtime"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            name = path.relative_to(root).as_posix()
            layer = layer_of(name)
            if layer is None:
                found.append(f"{name}: in no layer; add it to tools/check_layers.py")
                continue
            text = path.read_text(encoding="utf-8")
            for m in INCLUDE.finditer(text):
                wrong = complaint(root, layer, path.parent, m[1], m[2])
                if wrong:
                    found.append(f"{name}:{text.count(chr(10), 0, m.start(2)) + 1}: {wrong}")
    return found


def check(root):
    return check_layers(root) + check_systems(root)


def self_test():
    tree = {
        "frontend/ir/graph.h": "#include <vector>\n",
        "frontend/rewrite/good.cpp": '#include "frontend/ir/graph.h"\n#include "spirograd/shape.h"\n',
        "spirv/emit/good.cpp": "#include <spirv/unified1/spirv.hpp11>\n",
        "vk_runtime/good_posix.cpp": "#include <sys/stat.h>\n#include <unistd.h>\n",
        "tools/io/good_windows.cpp": "#include <windows.h>\n",
        "samples/good.cpp": "#include <csignal>\n#include <png.h>\n",
    }
    planted = {
        "frontend/ir/up.cpp": '#include "frontend/rewrite/good.h"\n',
        "frontend/rewrite/good.h": "\n",
        "frontend/dsl/sideways.cpp": '\n#include "frontend/rewrite/good.h"\n',
        "frontend/text/surface.cpp": "#include <spirograd/trace.h>\n",
        "ad/spirv.cpp": '#include "spirograd/executable.h"\n',
        "spirv/kernel/ir.cpp": '#include "frontend/ir/graph.h"\n',
        "spirv/lower/ad.cpp": '#include "spirograd/grad.h"\n',
        "vk_runtime/ir.cpp": '#include "frontend/ir/graph.h"\n',
        "frontend/base/vulkan.cpp": "#include <vulkan/vulkan.h>\n",
        "frontend/base/boost.cpp": "#include <boost/any.hpp>\n",
        "ad/relative.cpp": '#include "relative.h"\n',
        "ad/tests.cpp": '#include "tests/support/x.h"\n',
        "frontend/include/spirograd/new.h": "\n",
        "frontend/other/x.cpp": "\n",
        "vk_runtime/posix.h": "#include <dlfcn.h>\n",
        "tools/cli/names.cpp": "\n# include <unistd.h>\n",
        "samples/times.cpp": "#include <sys/time.h>\n",
        "bench/windows.cpp": "#include <Windows.h>\n",
    }
    harmless = {"frontend/rewrite/good.h"}
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**tree, **planted, "tests/support/x.h": "\n"}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        found = check(root)
    blamed = {line.split(":")[0] for line in found}
    wrong = (set(planted) - harmless) ^ blamed
    for name in sorted(wrong):
        print(f"self-test: {name}: {'a violation was missed' if name in planted else 'blamed without reason'}")
    return not wrong


def main():
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(0 if self_test() else 1)
    found = check(pathlib.Path(__file__).resolve().parent.parent)
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
