"""The manual: every command runs and prints what its page shows; options, links and columns are
correct.

`manual.py Pages.test_sort` runs one page; `manual.py --rewrite sort` updates a page with the
current output of its commands. pages.py describes the format."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import pages
import tessera

MANUAL = os.path.join(tessera.ROOT, "apps", "manual")
README = os.path.join(tessera.ROOT, "README.md")
DEVELOPERS = os.path.join(tessera.ROOT, "src", "README.md")
HOSTS = (socket.gethostname(), socket.gethostname().split(".")[0], "laptop")
PAGES = {
    name[:-3]: os.path.join(MANUAL, name)
    for name in sorted(os.listdir(MANUAL))
    if name.endswith(".md")
}
PAGES["readme"] = README
PATIENCE = 900  # seconds for the commands of a page
PICTURE = 150_000  # bytes
# Options of other programs in the prose.
OTHERS = """--oversubscribe --bind-to --map-by --mpi --cpu-bind --array --signal --requeue --hint
--nodes --ntasks-per-node --cpus-per-task --verbose --workflow --preset --install --prefix --build
--component --target --all --no-install --quick --sanitize --rewrite --robot --recipe""".split()


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- running a page ------------------------------------------------------------------------------


def surroundings(folder):
    """Returns the environment of a page: program in PATH, Python package, no user settings, one
    thread."""
    tools = os.path.join(folder, ".tools")
    os.mkdir(tools)
    with open(os.path.join(tools, "python3"), "w") as file:
        file.write(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    os.chmod(os.path.join(tools, "python3"), 0o755)
    os.symlink(tessera.PROGRAM, os.path.join(tools, "tessera"))
    with open(os.path.join(tools, "sinfo"), "w") as file:  # no cluster of this machine
        file.write("#!/bin/sh\nexit 1\n")
    os.chmod(file.name, 0o755)
    env = {
        name: value
        for name, value in os.environ.items()
        if not re.match("TESSERA_|OMPI_(?!MCA_plm)|PMI|SLURM_|OMP_|HDF5_|MPLBACKEND", name)
    }
    env.update(tessera.MPI_ENVIRONMENT)
    # concurrent jobs that end would remove each other's
    env.update(dict.fromkeys(tessera.LAUNCHER_FOLDERS, tools))
    package = os.path.join(os.path.dirname(os.path.dirname(tessera.PROGRAM)), "python")
    env.update(
        PATH=f"{tools}:{env.get('PATH', '/usr/bin:/bin')}",
        PYTHONPATH=os.pathsep.join(filter(None, (package, env.get("PYTHONPATH")))),
        TESSERA_DEVICE="cpu",
        OMP_NUM_THREADS="1",
        TESSERA_MACHINE_FILE=os.path.join(tools, "machine.toml"),
        TESSERA_POWERCAP=tools,  # no energy counters
        TESSERA_PYTHON=sys.executable,
        OMP_WAIT_POLICY="passive",
        # Open MPI 5 prints lines about interfaces where there is no network
        OMPI_MCA_reachable="weighted",
        LC_ALL="C.UTF-8",
        COLUMNS="80",
        PYTHONDONTWRITEBYTECODE="1",
        TESSERA_PROGRAM_MEMORY="33554432",
        MPLCONFIGDIR=tools,
        XDG_CACHE_HOME=tools,
        XDG_CONFIG_HOME=tools,
        TESSERA_SEED="1",
    )
    return env


def run_session(commands, folder, env):
    """Runs commands in one shell in a folder; returns [(lines of output, exit code)] of each."""
    mark = "end-of-command-"
    script = ["exec 2>&1"]
    for command in commands:
        script += [command, f"status=$?; printf '\\n{mark}%d\\n' $status; (exit $status)"]
    with open(os.path.join(folder, ".tools", "session.sh"), "w") as file:
        file.write("\n".join(script) + "\n")
    done = subprocess.run(
        ["bash", file.name],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        timeout=PATIENCE,
        text=True,
        errors="replace",
    )
    parts = re.split(rf"\n{mark}(\d+)\n", done.stdout)
    outputs = [
        (parts[i].split("\n") if parts[i] else [], int(parts[i + 1]))
        for i in range(0, len(parts) - 1, 2)
    ]
    if len(outputs) != len(commands):
        raise AssertionError(
            f"the shell ended after {len(outputs)} of {len(commands)} commands:\n"
            f"{done.stdout[-2000:]}"
        )
    return outputs


def missing_modules(text, folder, env):
    """Returns the missing modules that a Python text in the folder imports."""
    names = set(re.findall(r"^\s*(?:import|from)\s+(\w+)", text, re.M))
    return sorted(
        n
        for n in names
        if subprocess.run([sys.executable, "-c", f"import {n}"], capture_output=True, cwd=folder,
                          env=env).returncode
    )


def run_page(text, folder):
    """Runs the sessions of a page in a folder. Returns [(command, lines, exit code)], and the
    skipped commands with the missing Python modules."""
    env = surroundings(folder)
    commands, unable = [], {}
    for block in pages.blocks(text):
        if block.kind == "console":
            commands += pages.session(block)
        name = pages.file_name(block)
        if name and block.kind in ("python", "toml"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("\n".join(block.lines) + "\n")
            code = "\n".join(block.lines) if block.kind == "python" else ""
            absent = missing_modules(code, folder, env)
            unable.update({name: absent} if absent else {})
    if missing_modules("import matplotlib", folder, env):
        unable["tessera report"] = ["matplotlib"]
    left_out = {c.number: (c.text, unable[w]) for c in commands for w in unable if w in c.text}
    run = [c for c in commands if c.number not in left_out]
    outputs = run_session([c.text for c in run], folder, env)
    return [(c, *output) for c, output in zip(run, outputs)], left_out.values()


def mistakes(done):
    """Returns the differences between the commands' output or exit codes and the page."""
    wrong = []
    for at, (command, got, code) in enumerate(done):
        differs = pages.difference([line for _, line in command.shown], got, HOSTS,
                                   command.counted)
        if differs:
            wrong.append(
                f"line {command.number}: $ {command.text}\n{differs}\n--- it printed\n"
                + "\n".join(got)
            )
        following = done[at + 1][0].text if at + 1 < len(done) else ""
        told = following == "echo $?" or any(
            line.startswith("tessera: error:") for _, line in command.shown
        )
        if code != 0 and not told:
            wrong.append(
                f"line {command.number}: $ {command.text}\n"
                f"ended with {code}, and the page does not show that"
            )
    return wrong


# --- what the program has ------------------------------------------------------------------------


class Known:
    """Sub-commands and their options, as the program's help lists them."""

    def __init__(self):
        self.options = {}
        general = tessera.run("--help").out.split("Commands:")[1].split("\n\n")[0]
        for command in re.findall(r"^  ([a-z]\w*) ", general, re.M):
            text = tessera.run(command, "--help").out
            self.options[command] = set(re.findall(r"^\s+(--[a-z][\w-]*)", text, re.M)) | {"--help"}
        workloads = ("matmul", "transpose", "stencil", "sort")
        self.options["slurm"] |= set().union(*(self.options[w] for w in workloads))
        self.every = set().union(*self.options.values(), {"--version"})

    def mistakes(self, words):
        """Returns the errors in the words after `tessera`."""
        if not words or words[0] in ("--version", "--help", "-h", "help", "..."):
            return []
        if words[0] not in self.options:
            return [f"no sub-command {words[0]}"]
        named = {word.split("=")[0] for word in words if re.match(r"--[a-z]", word)}
        return [
            f"tessera {words[0]} has no {option}"
            for option in sorted(named - self.options[words[0]])
        ]


def wrong_options(text, known):
    """Returns the options and sub-commands of a page that the program lacks."""
    wrong = []
    for block in pages.blocks(text):
        if block.kind == "sh":  # those of sessions are executed
            wrong += [
                f"line {number}: {what}"
                for number, words in pages.invocations(block)
                for what in known.mistakes(words)
            ]
        elif block.kind == "toml":
            keys = re.findall(r"^([a-z][\w-]*)\s*=", "\n".join(block.lines), re.M)
            wrong += [
                f"line {block.first}: no option {key}"
                for key in keys
                if f"--{key}" not in known.every
            ]
    for number, option, code in pages.inline_options(text):
        if option not in known.every | set(OTHERS):
            wrong.append(f"line {number}: no option {option} (`{code}`)")
    for number, line in pages.outside(text):
        for code in re.findall(r"`([^`]*\btessera [^`]*)`", line):
            wrong += [
                f"line {number}: {what}"
                for words in pages.calls(code)
                for what in known.mistakes(words)
                if not re.match(r"no sub-command [A-Z]", what)
            ]
    return wrong


# --- tests ---------------------------------------------------------------------------------------


class Pages(unittest.TestCase):
    """One test per page, generated below."""

    def check(self, path):
        text = read(path)
        folder = tempfile.mkdtemp(prefix="tessera-manual-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        wrong = wrong_options(text, Known())
        done, left_out = run_page(text, folder)
        for command, modules in left_out:
            print(f"left out, no {', '.join(modules)}: {command}", flush=True)
        wrong += mistakes(done)
        if wrong:
            self.fail(f"{path}\n" + "\n\n".join(wrong))


for page_name, page_path in PAGES.items():
    setattr(Pages, f"test_{page_name}", lambda self, path=page_path: self.check(path))


class Form(unittest.TestCase):
    """Links, columns, blocks and pictures of all pages."""

    def texts(self):
        return {path: read(path) for path in [*PAGES.values(), DEVELOPERS]}

    def test_links_and_anchors_lead_somewhere(self):
        wrong = [line for path in self.texts() for line in pages.broken(path, tessera.ROOT)]
        self.assertEqual(wrong, [])

    def test_every_page_is_in_the_index(self):
        listed = {target.split("#")[0] for _, target in pages.links(read(PAGES["index"]))}
        self.assertEqual(
            [n for n in PAGES if n not in ("index", "readme") and f"{n}.md" not in listed], []
        )

    def test_lines_fit(self):
        wrong = [
            f"{path}:{number}: {len(line)} columns"
            for path, text in self.texts().items()
            for number, line in enumerate(text.splitlines(), 1)
            if len(line) > pages.COLUMNS
        ]
        self.assertEqual(wrong, [])

    def test_blocks_are_of_known_kinds(self):
        wrong = [
            f"{path}:{block.first}: {block.kind}"
            for path, text in self.texts().items()
            for block in pages.blocks(text)
            if block.kind not in pages.KINDS
        ]
        self.assertEqual(wrong, [])

    def test_python_of_a_page_is_run_by_it(self):
        for path in PAGES.values():
            found = pages.blocks(read(path))
            shown = " ".join(c.text for b in found if b.kind == "console" for c in pages.session(b))
            for block in found:
                if block.kind in ("python", "toml"):
                    name = pages.file_name(block)
                    self.assertTrue(
                        name and name in shown, f"{path}:{block.first}: no command uses this file"
                    )

    def test_code_of_the_library_is_that_of_its_test(self):
        """C++, C, Fortran and CMake equal what tests compile."""
        tests, examples = "tests/install/", "src/c/examples/"
        sources = {
            kind: "".join(read(os.path.join(tessera.ROOT, name)) for name in names)
            for kind, names in (
                ("cpp", (tests + "main.cpp", tests + "embedded.cpp", tests + "kernels/main.cpp",
                         "apps/examples/heat.cpp", "apps/examples/join.cpp")),
                ("c", (tests + "product.c", examples + "kmeans.c")),
                ("fortran", (tests + "product.f90", examples + "heat.f90",
                             "tests/c/fortran_plans_test.f90")),
                ("cmake", (tests + "CMakeLists.txt",)))
        }
        for path in PAGES.values():
            for block in pages.blocks(read(path)):
                if block.kind in sources:
                    self.assertIn(
                        "\n".join(block.lines), sources[block.kind], f"{path}:{block.first}"
                    )

    def test_pictures_are_small(self):
        for name in os.listdir(MANUAL):
            if not name.endswith(".md"):
                self.assertLess(os.path.getsize(os.path.join(MANUAL, name)), PICTURE, name)

    def test_readme_and_guide_are_short(self):
        self.assertLessEqual(len(read(README).splitlines()), 120)
        self.assertLessEqual(len(read(DEVELOPERS).split("\n## Decisions")[0].splitlines()), 150)


# --- rewriting -----------------------------------------------------------------------------------


def without_end(lines):
    """Returns the lines without trailing empty ones."""
    return "\n".join(lines).rstrip().split("\n") if lines else []


def rewrite(name):
    """Replaces the shown output of a page by the current one where it differs."""
    text, folder = read(PAGES[name]), tempfile.mkdtemp(prefix="tessera-manual-")
    began = time.monotonic()
    try:
        done, _ = run_page(text, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = text.splitlines()
    for command, got, code in reversed(done):
        shown = [line for _, line in command.shown]
        differs = pages.difference(shown, got, HOSTS, command.counted)
        if differs or max(map(len, shown), default=0) > pages.COLUMNS:
            first = command.number + command.text.count("\n")
            old = without_end(shown)
            lines[first : first + len(old)] = pages.refreshed(
                old, [line.rstrip() for line in without_end(got)], HOSTS, command.counted
            )
            print(f"{name}: line {command.number}: $ {command.text} (ended with {code})")
    with open(PAGES[name], "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{name}: {len(done)} commands, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--rewrite"]:
        for name in sys.argv[2:] or PAGES:
            rewrite(name)
    else:
        tessera.main()
