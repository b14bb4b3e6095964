#!/usr/bin/env python3
"""Runs the compilers' tests of their OpenMP runtimes, those for the host, on coho's teams, beside the runtimes themselves.

Usage: suites.py llvm|gcc FOLDER LIBRARY [TEST...]
FOLDER is openmp/runtime/test of LLVM's source, of clang's version, or libgomp/testsuite of gcc's; LIBRARY is
libcoho_openmp.so; a TEST is a part of a name. Prints a line a test, how it ended and why, then a table of how many in
each folder ended how. With VERBOSE=1, also what failed printed."""

import glob
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

LIMIT_S = 60
# Debian has FileCheck here alone.
TOOLS = ":".join(sorted(glob.glob("/usr/lib/llvm-*/bin"), reverse=True))


class Llvm:
    """A test's lines with RUN are commands, with names of the suite's for the compilers and the program."""

    tools = ["clang", "FileCheck"]
    kinds = ("*.c", "*.cpp")

    def __init__(self, root):
        version = subprocess.run(["clang", "-dumpversion"], capture_output=True, text=True, check=True).stdout
        self.root = root
        self.left_out = {"clang", f"clang-{version.split('.')[0]}", "linux", os.uname().machine}

    def directives(self, text, name):
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

    def is_test(self, name, text):
        return bool(self.directives(text, "RUN"))

    def why_not(self, name, text):
        if name.startswith("ompt/"):
            return "tests of a tool's interface, which coho does not serve"
        unsupported = ",".join(self.directives(text, "UNSUPPORTED")).replace(" ", "").split(",")
        return "the suite leaves it out here" if self.left_out & set(unsupported) else None

    def commands(self, test, text, program, prefix, folder):
        run = f"{prefix} {program}"
        flags = f"-fopenmp -I{self.root} -I{test.parent}"
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
        for line in self.directives(text, "RUN"):
            for name, value in table:
                line = line.replace(name, value)
            lines.append(line)
        return lines


class Gcc:
    """A test has directives of DejaGnu's in its comments: { dg-NAME what it takes }."""

    tools = ["gcc"]
    kinds = ("libgomp.c/*.c", "libgomp.c-c++-common/*.c", "libgomp.c++/*.C", "libgomp.fortran/*.f90")
    compilers = {".c": ("gcc", "-O2"), ".C": ("g++", "-O2"), ".f90": ("gfortran", "-O2")}
    # What a directive asks of the target, and this one has.
    has = {"tls", "tls_runtime", "size32plus", "sync_int_long", "shared", "fpic", "large_long_double", "avx_runtime"}

    def __init__(self, root):
        self.root = root

    def directives(self, text, name):
        """What directives of a name take, a list each."""
        found = re.findall(rf"\{{\s*dg-{name}\s+((?:\"[^\"]*\"|\{{[^}}]*\}}|[^{{}}\"])*)\}}", text)
        return [re.findall(r"\"([^\"]*)\"|\{([^}]*)\}|([^\s\"{}]+)", one) for one in found]

    def words(self, text, name):
        return [[next(filter(None, word), "").strip() for word in one] for one in self.directives(text, name)]

    def is_test(self, name, text):
        helpers = {one for words in self.words(text, "additional-sources") for one in words}
        return not name.endswith(("-aux.c", "_aux.c")) and name not in helpers

    def why_not(self, name, text):
        action = next(iter(self.words(text, "do")), ["run"])
        if action[0] != "run":
            return "only compiled"
        if any("offload" in word or "lto" in word or "vect_simd" in word for word in action[1:]):
            return "needs a device, or a target's vectors"
        for words in self.words(text, "require-effective-target"):
            if words[0] not in self.has:
                return f"needs {words[0]}"
        if any(words[1:2] == ["*-*-*"] for words in self.words(text, "skip-if")):
            return "the suite leaves it out here"
        if re.search(r"#\s*include\s+\"(\.\./)*(libgomp_g|libgomp|config)\.h\"", text):
            return "includes headers of libgomp's own"
        return None

    def flags(self, text):
        found = []
        for name in ("options", "additional-options"):
            for words in self.words(text, name):
                target = " ".join(words[1:])
                if not target or re.search(r"x86_64|linux|avx_runtime|\*-\*-\*", target):
                    found += words[0].split()
        return found

    def commands(self, test, text, program, prefix, folder):
        compiler, optimizes = self.compilers[test.suffix]
        sources = [test, *(test.parent / one for words in self.words(text, "additional-sources") for one in words[0].split())]
        compile_ = [compiler, optimizes, "-fopenmp", f"-I{test.parent}", *self.flags(text), *sources]
        variables = [f"{words[0]}={words[1] if len(words) > 1 else ''}" for words in self.words(text, "set-target-env-var")]
        run = shlex.join(["env", *variables]) + f" {prefix} {program}"
        if self.words(text, "shouldfail"):
            run = f"! {run}"
        return [shlex.join(map(str, [*compile_, "-w", "-o", program, "-lm"])), run]


def tried(suite, test, text, library):
    """Whether it passed, and what coho decided in its processes."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        program, told = folder / "program", folder / "told"
        told.touch()
        prefix = f"env LD_PRELOAD={library} COHO_OPENMP_DECISIONS={told}" if library else ""
        environment = dict(os.environ, PATH=f"{TOOLS}:{os.environ['PATH']}")
        passed = True
        for line in suite.commands(test, text, program, prefix, folder):
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


def verdict(suite, name, test, text, library):
    why = suite.why_not(name, text)
    if why:
        return "not run", why
    plain, _ = tried(suite, test, text, None)
    ours, told = tried(suite, test, text, library)
    aside = "; ".join(sorted({line.split("stands aside: ")[1] for line in told if "stands aside: " in line}))
    if not plain:
        return "fails with its runtime", "passes with coho" if ours else "fails with coho, too"
    if not ours:
        return "FAIL", aside
    if aside:
        return "stands aside", aside
    return "pass", "" if told else "no process with OpenMP"


def table(counts):
    """Rows by folder, columns by verdict, in Markdown."""
    verdicts = ["pass", "stands aside", "FAIL", "fails with its runtime", "not run"]
    print("", "| folder |" + " | ".join(verdicts) + " |", "|---" * (len(verdicts) + 1) + "|", sep="\n")
    for folder, by in sorted(counts.items()):
        print(f"| {folder} |", " | ".join(str(by.get(one, 0)) for one in verdicts), "|")


def main():
    suite = {"llvm": Llvm, "gcc": Gcc}[sys.argv[1]]
    for tool in suite.tools:
        if not shutil.which(tool, path=f"{TOOLS}:{os.environ['PATH']}"):
            sys.exit(f"suites.py: {tool} is missing")
    root, library = pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    suite, wanted, counts = suite(root), sys.argv[4:], {}
    for test in sorted(path for kind in suite.kinds for path in root.rglob(kind)):
        name = str(test.relative_to(root))
        text = test.read_text(errors="replace")
        if wanted and not any(word in name for word in wanted) or not suite.is_test(name, text):
            continue
        ended, why = verdict(suite, name, test, text, library)
        by = counts.setdefault(name.split("/")[0], {})
        by[ended] = by.get(ended, 0) + 1
        print(name, ended, why, sep="\t", flush=True)
    table(counts)


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("llvm", "gcc") or not all(map(os.path.exists, sys.argv[2:4])):
        sys.exit(__doc__)
    main()
