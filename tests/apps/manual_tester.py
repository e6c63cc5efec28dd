"""Tests that manual.py detects errors in a page."""

import os
import shutil
import tempfile
import unittest

import manual
import pages
import tessera


class Tester(unittest.TestCase):
    def page(self, *lines, kind="console"):
        folder = tempfile.mkdtemp(prefix="tessera-manual-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return manual.mistakes(manual.run_page("\n".join([f"```{kind}", *lines, "```"]), folder)[0])

    def test_finds_a_planted_line(self):
        right = ["$ printf 'took 3.2 ms\\n7 rows\\nend\\n'", "took 12.9 s", "7 rows", "end"]
        self.assertEqual(self.page(*right), [])
        self.assertEqual(self.page(right[0], "...", "end"), [])
        for planted in (
            ["took 12.9 s", "8 rows", "end"],
            ["took 12.9 s", "7 rows"],
            ["took 12.9 GB/s", "7 rows", "end"],
            ["took 1 s", "7 rows", "end", "end"],
            ["...", "7 rows"],
            ["end", "..."],
            [],
        ):
            self.assertEqual(len(self.page(right[0], *planted)), 1, planted)

    def test_compares_counts_to_the_digit(self):
        command = "$ printf '5.25 sectors, 7.5 KiB, 96.9 %%, simulated in 3 ms\\n'"
        right = "5.25 sectors, 7.5 KiB, 96.9 %, simulated in 8.1 s"
        self.assertEqual(self.page(command, right, kind="console counted"), [])
        for old, new in (("5.25", "5.26"), ("7.5", "7.6"), ("96.9", "96.8")):
            planted = right.replace(old, new)
            self.assertEqual(self.page(command, planted), [])
            self.assertEqual(len(self.page(command, planted, kind="console counted")), 1, planted)

    def test_takes_rates_of_any_digits_and_no_other_sizes(self):
        table = "kernel   n  ...  GFLOP/s", "------  --  ...  -------"
        shown = [*table, "naive   64  ...     83.6"]
        self.assertIsNone(
            pages.difference(
                shown,
                [
                    "kernel   n  ranks  GFLOP/s",
                    "------  --  -----  -------",
                    "naive   64      1       85",
                ],
            )
        )
        self.assertIsNotNone(
            pages.difference(
                shown,
                [
                    "kernel   n  ranks  GFLOP/s",
                    "------  --  -----  -------",
                    "naive   65      1     83.6",
                ],
            )
        )

    def test_a_page_that_is_rewritten_keeps_what_it_leaves_out(self):
        got = [
            "plan of 3 ranks",
            *(f"rank {r}: 5 rows" for r in range(3)),
            "in all 15 rows",
            "done",
        ]
        shown = ["...", "rank 1: 4 rows", "...", "in all 12 rows", "..."]
        self.assertEqual(
            pages.refreshed(shown, got), ["...", "rank 1: 5 rows", "...", "in all 15 rows", "..."]
        )
        self.assertEqual(pages.refreshed(["nothing of it"], got), got)

    def test_finds_a_planted_line_of_a_page(self):
        text = manual.read(manual.PAGES["transpose"])
        block = next(
            b
            for b in pages.blocks(text)
            if b.kind == "console" and any(c.shown for c in pages.session(b))
        )
        number = next(
            n
            for c in pages.session(block)
            for n, line in c.shown
            if line.strip() not in ("", "...")
        )
        lines = text.splitlines()
        lines.insert(number, "a planted line")
        folder = tempfile.mkdtemp(prefix="tessera-manual-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        wrong = manual.mistakes(manual.run_page("\n".join(lines), folder)[0])
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn("-a planted line", wrong[0])

    def test_finds_an_exit_code(self):
        self.assertEqual(len(self.page("$ false")), 1)
        self.assertEqual(self.page("$ (exit 76)", "$ echo $?", "76"), [])
        self.assertEqual(len(self.page("$ (exit 76)", "$ echo $?", "75")), 1)

    def test_finds_an_option(self):
        known = manual.Known()
        for right in (
            "```sh\nmpirun -n 4 tessera sort --in t.h5:/k --by=-x --out s.h5:/k | less --raw\n```",
            "`tessera stencil --halo-steps 4`, `mpirun --oversubscribe`, `tessera COMMAND --help`",
            "```sh\nsrun tessera slurm matmul --n 4 \\\n  --nodes 4 --script j.sbatch\n```",
        ):
            self.assertEqual(manual.wrong_options(right, known), [], right)
        for planted in (
            "```sh\ntessera sort --halo-steps 4\n```",
            "```sh\ntessera sorted\n```",
            "```sh\ntessera sort --n 4 \\\n  --inn t.h5:/k\n```",
            "`--halo-step`",
            "`tessera sort --axes 1,0`",
            "```sh\nsbatch --nodes 2 jobs/slurm/sort.sbatch c.toml --axes 1\n```",
            "```toml\n# a.toml\nkernels = 1\n```",
        ):
            self.assertEqual(len(manual.wrong_options(planted, known)), 1, planted)

    def test_finds_a_broken_link(self):
        folder = tempfile.mkdtemp(prefix="tessera-manual-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        page = os.path.join(folder, "a.md")
        for text, count in (
            ("# Top `--x`, y\n[a](a.md#top---x-y) [b](#top---x-y)", 0),
            ("[a](b.md)", 1),
            ("# Top\n[a](#bottom)", 1),
            ("[a](../../etc)", 1),
            ("```text\n[a](b.md)\n```", 0),
        ):
            with open(page, "w") as file:
                file.write(text + "\n")
            self.assertEqual(len(pages.broken(page, folder)), count, text)


if __name__ == "__main__":
    tessera.main()
