#!/usr/bin/env python3
"""Runs LLVM's tests of its OpenMP runtime, those for the host, on coho's teams, beside the runtime itself.

Usage: llvm.py FOLDER LIBRARY [TEST...]
FOLDER is openmp/runtime/test of LLVM's source, of clang's version; LIBRARY is libcoho_openmp.so; a TEST is a part of a
name. Prints a line a test, how it ended and why, then how many ended how. With VERBOSE=1, also what failed printed."""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 60
# Folders whose tests are not about what programs see.
NOT_RUN = {"ompt": "tests of a tool's interface, which coho does not serve"}
# Debian has FileCheck here alone.
TOOLS = ":".join(sorted(glob.glob("/usr/lib/llvm-*/bin"), reverse=True))


def directives(text, name):
    """What stands behind a directive, with lines that go on joined."""
    found, going = [], ""
    for line in text.splitlines():
        match = re.search(rf"\b{name}:(.*)", line)
        if match:
            going += match[1].strip()
            if going.endswith("\\"):
                going = going[:-1]
                continue
            found.append(going)
            going = ""
    return found


def commands(test, text, program, run, folder, root):
    flags = f"-fopenmp -I{root} -I{test.parent}"
    last = f"{test} -o {program} -lm -latomic"
    c, cxx = f"clang {flags}", f"clang++ -std=c++11 {flags}"
    table = [
        ("%libomp-compile-and-run", f"{c} {last} && {run}"),
        ("%libomp-c99-compile-and-run", f"{c} -std=c99 {last} && {run}"),
        ("%libomp-cxx-compile-and-run", f"{cxx} {last} && {run}"),
        ("%libomp-cxx-compile-c", f"{cxx} -x c++ {last}"),
        ("%libomp-cxx-compile", f"{cxx} {last}"),
        ("%libomp-c99-compile", f"{c} -std=c99 {last}"),
        ("%libomp-compile", f"{c} {last}"),
        ("%libomp-run", run),
        ("%clangXX", "clang++"),
        ("%clang", "clang"),
        ("%openmp_flags", "-fopenmp"),
        ("%flags-use-compiler-omp-h", flags),
        ("%flags", flags),
        ("%python", sys.executable),
        ("%not", "!"),
        ("%sort-threads", "sort -n -s"),
        ("%preload-tool", f"env LD_PRELOAD={folder}/tool.so"),
        ("%no-as-needed-flag", "-Wl,--no-as-needed"),
        ("%T", str(folder)),
        ("%S", str(test.parent)),
        ("%s", str(test)),
        ("%t", str(program)),
    ]
    lines = []
    for line in directives(text, "RUN"):
        for name, value in table:
            line = line.replace(name, value)
        lines.append(line)
    return lines


def tried(test, text, library, root):
    """Whether it passed, and what coho decided in its processes."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program, told = folder / "program", folder / "told"
        told.touch()
        run = str(program)
        if library:
            run = f"env LD_PRELOAD={library} COHO_OPENMP_DECISIONS={told} {program}"
        environment = dict(os.environ, PATH=f"{TOOLS}:{os.environ['PATH']}")
        passed = True
        for line in commands(test, text, program, run, folder, root):
            process = subprocess.Popen(
                ["bash", "-o", "pipefail", "-c", line],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                output, _ = process.communicate(timeout=LIMIT_S)
                status = process.returncode
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                output, _ = process.communicate()
                status = "time"
            if status != 0:
                passed = False
                if os.environ.get("VERBOSE"):
                    print(line, status, output.decode(errors="replace")[-2000:], sep="\n")
                break
        return passed, told.read_text().splitlines()


def main():
    version = subprocess.run(["clang", "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
    left_out = {"clang", f"clang-{version}", "linux", os.uname().machine}
    root, library = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    tests = sorted(path for kind in ("*.c", "*.cpp") for path in root.rglob(kind))
    wanted = sys.argv[3:]
    counts = {}
    for test in tests:
        name = str(test.relative_to(root))
        text = test.read_text(errors="replace")
        if wanted and not any(word in name for word in wanted) or not directives(text, "RUN"):
            continue
        why = NOT_RUN.get(name.split("/")[0])
        unsupported = ",".join(directives(text, "UNSUPPORTED")).replace(" ", "").split(",")
        if not why and left_out & set(unsupported):
            why = "the suite leaves it out here"
        if why:
            verdict = ("not run", why)
        else:
            plain, _ = tried(test, text, None, root)
            ours, told = tried(test, text, library, root)
            aside = sorted({line.split("stands aside: ")[1] for line in told if "stands aside: " in line})
            if not plain:
                verdict = ("fails with LLVM's runtime", "passes with coho" if ours else "fails with coho, too")
            elif not ours:
                verdict = ("FAIL", "; ".join(aside))
            elif aside:
                verdict = ("stands aside", "; ".join(aside))
            else:
                verdict = ("pass", "" if told else "no process with OpenMP")
        counts[verdict[0]] = counts.get(verdict[0], 0) + 1
        print(name, *verdict, sep="\t", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))


if __name__ == "__main__":
    if len(sys.argv) < 3 or not pathlib.Path(sys.argv[1]).is_dir() or not pathlib.Path(sys.argv[2]).is_file():
        sys.exit(__doc__)
    for tool in ["clang", "FileCheck"]:
        if not shutil.which(tool, path=f"{TOOLS}:{os.environ['PATH']}"):
            sys.exit(f"llvm.py: {tool} is missing")
    main()
