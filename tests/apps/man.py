"""Generated pages and completion: manual pages, reference pages, bash, zsh and fish."""

import os
import pty
import re
import select
import shutil
import subprocess
import time

import tessera

WORKLOADS = ("matmul", "transpose", "stencil", "sort")


def commands():
    text = tessera.run("--help").out.split("Commands:")[1].split("\n\n")[0]
    return re.findall(r"^  ([a-z]+) ", text, re.M)


def options_of(command):
    return re.findall(r"^  (--[a-z][\w-]*)", tessera.run(command, "--help").out, re.M)


class Pages(tessera.Case):
    @classmethod
    def setUpClass(cls):
        cls.commands = commands()
        cls.options = {command: options_of(command) for command in cls.commands}

    def written(self):
        """The folder of all generated files."""
        self.succeed("help", "--format", "all", "--folder", self.path("all"))
        return self.path("all")

    def test_every_file_is_written(self):
        folder = self.written()
        names = ["tessera"] + ["tessera-" + command for command in self.commands]
        self.assertEqual(sorted(os.listdir(folder + "/man1")), sorted(n + ".1" for n in names))
        self.assertEqual(sorted(os.listdir(folder + "/reference")),
                         sorted(n + ".md" for n in names))
        for command in self.commands:
            with open(f"{folder}/man1/tessera-{command}.1") as file:
                self.assertEqual(file.read(), self.succeed("help", command, "--format", "man").out)
        for file, shell in (("bash/tessera", "bash"), ("zsh/_tessera", "zsh"),
                            ("fish/tessera.fish", "fish")):
            with open(f"{folder}/{file}") as script:
                self.assertEqual(script.read(), self.succeed("help", "--format", shell).out)

    def test_pages_have_every_option_once(self):
        for command in self.commands:
            man = self.succeed("help", command, "--format", "man").out
            found = re.findall(r"^\\fB\\-\\-([a-z][^ ]*)\\fR", man, re.M)
            found = [name.replace("\\-", "-") for name in found if name != "help"]
            self.assertEqual(sorted("--" + name for name in found), sorted(self.options[command]))
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES",
                            '"EXIT STATUS"', "ENVIRONMENT", '"SEE ALSO"'):
                self.assertEqual(man.count(f"\n.SH {section}\n"), 1, command + section)
            page = self.succeed("help", command, "--format", "markdown").out
            found = re.findall(r"^- `(--[a-z][\w-]*)", page, re.M)
            self.assertEqual(sorted(found), sorted(self.options[command]))
            self.assertLessEqual(max(map(len, page.splitlines())), 100, page)

    def test_manual_pages_have_no_warnings(self):
        if shutil.which("groff") is None:
            self.skipTest("groff is missing; apt-get install groff-base")
        folder = self.written() + "/man1"
        for name in sorted(os.listdir(folder)):
            words = ["groff", "-man", "-ww", "-Tutf8", "-z", f"{folder}/{name}"]
            result = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""), name)
            if shutil.which("man"):
                words = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
                         f"{folder}/{name}"]
                result = subprocess.run(words, capture_output=True, text=True,
                                        env={**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80",
                                             "LC_ALL": "C.UTF-8"})
                self.assertEqual((result.returncode, result.stderr), (0, ""), name)

    def test_pages_of_topics_and_unwritable_folders_are_refused(self):
        self.fail_with(tessera.USAGE, "help", "sweeps", "--format", "man", words="topic")
        self.fail_with(tessera.USAGE, "help", "--format", "all", words="--folder")
        self.fail_with(tessera.CANNOT_CREATE, "help", "--format", "all", "--folder",
                       "/dev/null/x", words="cannot be written")


class Terminal:
    """An interactive shell on a pseudo-terminal."""

    def __init__(self, words, environment):
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.execvpe(words[0], words, {**os.environ, "TERM": "dumb", **environment})
        self.seen = ""

    def type(self, text):
        os.write(self.file, text.encode())

    def expect(self, pattern, seconds=60):
        """Whether the shell prints what matches, after what it printed before."""
        end = time.monotonic() + seconds
        while re.search(pattern, self.seen) is None:
            ready, _, _ = select.select([self.file], [], [], max(0, end - time.monotonic()))
            if not ready:
                return False
            try:
                self.seen += os.read(self.file, 65536).decode(errors="replace")
            except OSError:
                return re.search(pattern, self.seen) is not None
        self.seen = self.seen[re.search(pattern, self.seen).end():]
        return True

    def close(self):
        os.close(self.file)
        os.waitpid(self.pid, 0)


class Completion(tessera.Case):
    def script(self, shell):
        path = self.path(f"completion.{shell}")
        with open(path, "w") as file:
            file.write(self.succeed("help", "--format", shell).out)
        return path

    def shell(self, name, words, source, environment):
        if shutil.which(name) is None:
            self.skipTest(f"{name} is missing; apt-get install {name}")
        terminal = Terminal(words, environment)
        self.addCleanup(terminal.close)
        terminal.type(source.format(self.script(name)) + "; echo re''ady\n")
        self.assertTrue(terminal.expect("ready"), terminal.seen)
        return terminal

    def completes(self, terminal, typed, expected):
        """Typing a beginning and Tab twice shows what is expected."""
        terminal.type(typed + "\t")
        time.sleep(0.3)
        terminal.type("\t")
        found = terminal.expect(expected, 20)
        self.assertTrue(found, f"{typed!r} completes to {terminal.seen!r}")
        terminal.type("\x15\n")  # Ctrl-U empties the line
        time.sleep(0.2)

    def check(self, terminal):
        with open(self.path("keys.h5"), "w"):
            pass
        self.completes(terminal, "tessera tran", "tessera transpose")
        self.completes(terminal, "tessera sort --ker", "--kernel")
        self.completes(terminal, "tessera sort --kernel mer", "mergesort")
        self.completes(terminal, "tessera sort --kernel ",
                       r"(?s)(?=.*cache_oblivious)(?=.*samplesort).*")
        self.completes(terminal, "tessera sort --kernel radix,mer", "radix,mergesort")
        self.completes(terminal, "tessera matmul --precision=b", "bf16")
        self.completes(terminal, f"tessera sort --in {self.folder}/ke", "ke.*ys.h5|keys.h5")
        self.completes(terminal, "tessera help exit", "exit-codes")
        self.completes(terminal, "tessera locality transp", "transpose")

    def test_bash(self):
        self.check(self.shell("bash", ["bash", "--norc", "--noprofile", "-i"],
                              "bind 'set enable-bracketed-paste off'; source {}",
                              {"PS1": "$ ", "INPUTRC": "/dev/null"}))

    def test_bash_completes_the_workload_of_a_batch_script(self):
        terminal = self.shell("bash", ["bash", "--norc", "--noprofile", "-i"], "source {}",
                              {"PS1": "$ ", "INPUTRC": "/dev/null"})
        self.completes(terminal, "tessera slurm sort --kernel mer", "mergesort")

    def test_zsh(self):
        self.check(self.shell("zsh", ["zsh", "-f", "-i"],
                              "autoload -Uz compinit; compinit -u -D; source {}",
                              {"PS1": "$ ", "HOME": self.folder}))

    def test_fish(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is missing; apt-get install fish")
        script = self.script("fish")
        with open(self.path("keys.h5"), "w"):
            pass

        def completed(line):
            words = ["fish", "--no-config", "-c", f"source {script}; complete -C '{line}'"]
            result = subprocess.run(words, capture_output=True, text=True, cwd=self.folder,
                                    env={**os.environ, "HOME": self.folder})
            self.assertEqual(result.returncode, 0, result.stderr)
            return [row.split("\t")[0] for row in result.stdout.splitlines()]

        self.assertIn("transpose", completed("tessera tran"))
        self.assertIn("--kernel", completed("tessera sort --ker"))
        self.assertIn("mergesort", completed("tessera sort --kernel mer"))
        self.assertIn("keys.h5", completed("tessera sort --in ke"))
        self.assertEqual([], completed("tessera sort --n 1"))
        self.assertIn("exit-codes", completed("tessera help exit"))


if __name__ == "__main__":
    tessera.main()
