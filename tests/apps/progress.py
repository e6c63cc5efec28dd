"""Long steps show what is done and left: one line that disappears on a terminal, none in a pipe."""

import os
import pty
import re
import select
import subprocess

import tessera
from tessera import OK, h5py, numpy


class Progress(tessera.Case):
    def screen_of(self, *words):
        """Returns the exit code of a run and what it prints on a terminal."""
        there, terminal = pty.openpty()
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("TESSERA_")}
        env.update(OMP_NUM_THREADS="1", TESSERA_MACHINE_FILE=self.path("m.toml"))
        job = subprocess.Popen([tessera.PROGRAM, *map(str, words)], cwd=self.folder, env=env,
                               stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
        os.close(terminal)
        text = b""
        while True:
            select.select([there], [], [])
            try:
                piece = os.read(there, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            text += piece
        os.close(there)
        return job.wait(), text.decode(errors="replace")

    def long_run(self, words=("stencil", "--shape", "600x600", "--steps"), size=1000, power=1):
        """Returns the words of a run that takes several seconds here: words and a size, with which
        its time grows by that power."""
        words = (words[0], "--repetitions", 1, "--warmups", 0, *words[1:])
        while True:
            out = self.succeed(*words, size, "--json").out
            seconds = float(re.search(r'"median":([0-9.e+-]+)', out)[1])
            if seconds > 0.5:
                return (*words, int(size * max(1, 8 / seconds) ** (1 / power)))
            size = int(size * 4 ** (1 / power))

    def test_a_line_that_disappears(self):
        words = self.long_run()
        code, text = self.screen_of(*words)
        self.assertEqual(code, OK, text)
        steps = r"\r\x1b\[K(?:repetitions [^:]*: )?steps (\d+) of (\d+), [^\r]* left"
        drawn = re.findall(steps, text)
        self.assertGreater(len(drawn), 0, text)
        done = [int(number) for number, _ in drawn]
        self.assertEqual(done, sorted(done))
        self.assertEqual({int(every) for _, every in drawn}, {words[-1]})
        # what remains on the screen
        shown = [line.split("\r\x1b[K")[-1] for line in text.replace("\r\n", "\n").split("\n")]
        self.assertFalse([line for line in shown if " left" in line], shown)

    def test_within_one_product_and_one_sort(self):
        for words, size, power, units in (
                (("matmul", "--kernel", "recursive", "--no-verify", "--n"), 500, 3, "GFLOP"),
                (("sort", "--algorithm", "exact", "--kernel", "mergesort", "--no-verify", "--n"),
                 500000, 1, "Mkeys"),
                (("sort", "--algorithm", "rounds", "--kernel", "mergesort", "--no-verify", "--n"),
                 500000, 1, "Mkeys")):
            with self.subTest(words=words):
                code, text = self.screen_of(*self.long_run(words, size, power))
                self.assertEqual(code, OK, text)
                what = "product" if words[0] == "matmul" else "sort"
                drawn = re.findall(rf"\r\x1b\[K{what} (\d+) % of [^ ]+ {units}, "
                                   rf"[^ ]+ {units}/s, [^\r]* left", text)
                self.assertGreater(len(drawn), 0, text)
                shares = [int(share) for share in drawn]
                self.assertEqual(shares, sorted(shares))
                self.assertGreater(shares[-1], shares[0] if len(shares) > 4 else -1)

    def test_no_progress_without_a_terminal(self):
        result = self.succeed(*self.long_run())
        self.assertEqual(result.err, "")
        self.assertNotIn("\x1b", result.out)

    def test_no_colours(self):
        """Nothing but the line's return and erasure is sent to a terminal."""
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"] = numpy.ones((40, 40))
        for words in (("list",), ("--help",), ("doctor",), ("matmul", "--n", 20),
                      ("info", "in.h5"), ("transpose", "--in", "in.h5:/nope")):
            _, text = self.screen_of(*words)
            self.assertNotIn("\x1b[", text.replace("\r\x1b[K", ""), words)


if __name__ == "__main__":
    tessera.main()
