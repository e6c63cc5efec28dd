"""tessera forkjoin: work and span in operations, simulated schedules and their caches, refusals,
results and pictures, from the outside."""

import os
import sys

import tessera
from tessera import USAGE, h5py


def rows_of(path, table):
    """Returns the rows of a table of the last run as dictionaries."""
    with h5py.File(path, "r") as file:
        columns = {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
                   for name, column in list(file.values())[-1][table].items()}
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


class Forkjoin(tessera.Case):
    def examined(self, *words):
        path = self.path("f.h5")
        self.succeed("forkjoin", *words, "--results", path, "--again")
        return rows_of(path, "forkjoin"), rows_of(path, "schedules")

    def test_every_probe_has_work_and_span(self):
        out = self.succeed("forkjoin", "--results", "f.h5", environment={"COLUMNS": "200"}).out
        listed = [line.split()[1] for line in self.succeed("list").out.splitlines()
                  if line.split()[:1] == ["forkjoin"]]
        rows = rows_of(self.path("f.h5"), "forkjoin")
        self.assertEqual(list(dict.fromkeys(row["kernel"] for row in rows)), listed)
        for kernel in listed:
            self.assertIn(f"\n{kernel} ", out)
        for row in rows:
            self.assertEqual(row["work"],
                             row["loads"] + row["stores"] + row["arithmetic"] + 2 * row["forks"])
            self.assertLessEqual(row["span"], row["work"])
        self.assertEqual(self.succeed("forkjoin", environment={"COLUMNS": "200"}).out,
                         out[:out.index("results:")])

    def test_counts_depend_on_nothing_but_the_request(self):
        words = ("forkjoin", "--kernel", "mergesort_parallel_merge,lu", "--n", 100)
        out = self.succeed(*words, threads=1).out
        self.assertEqual(self.succeed(*words, threads=3).out, out)
        self.assertEqual(self.succeed(*words, ranks=2).out, out)
        self.assertNotEqual(self.succeed(*words, "--seed", 2).out, out)

    def test_bounds_hold_for_fib_merge_sort_and_product(self):
        for kernel, n in (("fib", 16), ("mergesort_serial_merge", 2000),
                          ("mergesort_parallel_merge", 2000), ("matmul_recursive", 32)):
            with self.subTest(kernel):
                (all_of_it,), rows = self.examined("--kernel", kernel, "--n", n, "--processors",
                                                   "1,2,3,8,50")
                self.assertEqual([row["processors"] for row in rows], [1, 2, 3, 8, 50])
                for row in rows:
                    self.assertGreaterEqual(row["time"], row["least"])
                    self.assertLessEqual(row["time"], all_of_it["work"] / row["processors"]
                                         + 4 * all_of_it["span"])
                    self.assertLessEqual(row["misses_alone"], row["misses_bound"])
                self.assertEqual(rows[0]["time"], all_of_it["work"])

    def test_protocols_differ_as_they_should(self):
        words = ("--kernel", "scan", "--n", 4096, "--threshold", 2, "--processors", 8)
        _, rows = self.examined(*words, "--protocol", "msi,mesi,write_through")
        msi, mesi, through = rows
        self.assertGreater(msi["upgrades"], mesi["upgrades"])
        self.assertGreater(msi["write_backs"], 0)
        self.assertEqual(through["write_backs"], 0)
        self.assertGreater(through["stored_bytes"], 0)
        self.assertEqual(msi["misses_alone"], through["misses_alone"])
        states = rows_of(self.path("f.h5"), "states")
        self.assertEqual({row["to"] for row in states}, set("ISEM"))
        _, (row,) = self.examined(*words, "--cache", "none")
        self.assertEqual(row["misses_alone"], -1)

    def test_a_graph_is_drawn(self):
        out = self.succeed("forkjoin", "--kernel", "fib", "--n", 2, "--draw").out
        self.assertIn("* 0: 2\n  * 1: 1\n  +\n  | 2: 1\n* 3: 1\n", out)
        out = self.succeed("forkjoin", "--kernel", "fib", "--n", 14, "--draw").out
        self.assertIn("not drawn: more than 400 strands", out)

    def test_threads_are_measured_beside(self):
        _, rows = self.examined("--kernel", "fib", "--n", 12, "--measure", "1,2", "--processors",
                                4, "--repetitions", 2)
        self.assertEqual([row["processors"] for row in rows], [1, 2, 4])
        self.assertEqual([row["seconds"] > 0 for row in rows], [True, True, False])

    def test_a_second_run_skips_what_is_there(self):
        words = ("forkjoin", "--kernel", "fib", "--n", "5,6", "--results", "f.h5")
        self.succeed(*words)
        self.assertIn("2 points already in f.h5", self.succeed(*words).out)

    def test_pictures_of_the_report(self):
        self.succeed("forkjoin", "--kernel", "fib,fft", "--n", 8, "--draw", "--processors", "1,2,4",
                     "--results", "f.h5")
        report = ("report", "f.h5")
        text = self.succeed(*report, "--text").out
        self.assertIn("T_P = T_1/P + c T_inf", text)
        if tessera.run("report", "f.h5", folder=self.folder,
                       environment={"TESSERA_PYTHON": sys.executable}).code != tessera.OK:
            self.skipTest("matplotlib is not installed")
        names = sorted(os.listdir(self.path("f_png")))
        self.assertEqual(names, [f"forkjoin_{what}_{i}.png" for what in
                                 ("bounds", "graph", "schedule") for i in (1, 2)])

    def test_wrong_requests(self):
        for words, expected in ((("--kernel", "fob", "--n", 3), ("fob", "fib")),
                                (("--processors", "2"), ("--processors", "add --n")),
                                (("--draw",), ("--draw", "add --n")),
                                (("--kernel", "fib", "--n", 61), ("--n 61", "at most 60")),
                                (("--n", 5, "--processors", "0"), ("--processors", "1 to 1024")),
                                (("--n", 5, "--processors", "2,x"), ("'x'",)),
                                (("--n", 5, "--processors", "1,2000"), ("'2000'",)),
                                (("--n", 5, "--measure", "-1"), ("--measure",)),
                                (("--n", 5, "--threshold", 0), ("--threshold",)),
                                (("--n", 5, "--cache", "1KiB:3"), ("--cache", "whole sets")),
                                (("--n", 5, "--cache", "4KiB:8:32"), ("--line",)),
                                (("--n", 5, "--shared-cache", "big"), ("--shared-cache",)),
                                (("--n", 5, "--line", 48), ("power of two",)),
                                (("--kernel", "matmul_recursive", "--n", 400), ("replay",)),
                                (("--n", 5, "--protocol", "moesi"), ("moesi",))):
            with self.subTest(words=words):
                self.fail_with(USAGE, "forkjoin", *words, words=expected)


if __name__ == "__main__":
    tessera.main()
