"""tessera memory: the five kinds of miss and their cures, from the outside."""

import json
import math

import tessera
from tessera import USAGE, h5py

QUICK = ("--repetitions", 2, "--warmups", 0, "--threads", 2)
PAIRS = {"cold": "cold_prefetched", "capacity": "capacity_blocked", "conflict": "conflict_padded",
         "true_sharing": "true_sharing_private", "false_sharing": "false_sharing_padded"}
KINDS = {"capacity": "l1_misses", "conflict": "l1_conflicts", "true_sharing": "true_sharing",
         "false_sharing": "false_sharing", "cold": "l1_misses"}


class Memory(tessera.Case):
    def simulated(self, *words):
        path = self.path("m.h5")
        self.succeed("memory", *words, *QUICK, "--results", path, "--again")
        with h5py.File(path, "r") as file:
            run = list(file.values())[-1]
            table = {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
                     for name, column in run["simulated"].items()}
            self.assertTrue((run["summary/verified"][:] == 1).all())
            self.assertEqual(len(run["samples/seconds"]), 2 * len(table["probe"]))
        return [dict(zip(table, values)) for values in zip(*table.values())]

    def test_every_cure_cures_its_kind(self):
        rows = {row["probe"]: row for row in self.simulated("--rounds", 20)}
        self.assertEqual(set(rows), set(PAIRS) | set(PAIRS.values()))
        for probe, cure in PAIRS.items():
            with self.subTest(probe=probe):
                kind = KINDS[probe]
                self.assertGreater(rows[probe][kind], 0.9)
                level = "l2_misses" if probe == "capacity" else kind
                self.assertLess(rows[cure][level], 0.1 * rows[probe][level])
                self.assertEqual(rows[cure]["source"], "simulated")

    def test_false_sharing_ends_where_counters_are_a_line_apart(self):
        rows = self.simulated("--probe", "false_sharing", "--stride", "8,32,64,128", "--rounds",
                              1000)
        self.assertEqual([row["false_sharing"] > 0.9 for row in rows], [True, True, False, False])

    def test_capacity_begins_where_the_cache_ends(self):
        rows = self.simulated("--probe", "capacity", "--size", "16KiB,64MiB", "--rounds", 10)
        self.assertLess(rows[0]["l1_misses"], 0.15)
        self.assertGreater(rows[1]["l1_misses"], 0.9)

    def test_smallest_sizes(self):
        self.simulated("--size", "8,72", "--stride", "8,16", "--rounds", "1")

    def test_no_simulation_only_times(self):
        out = self.succeed("memory", "--probe", "conflict", "--rounds", 10, "--no-simulation",
                           *QUICK).out
        self.assertNotIn("simulated", out)

    def test_list_and_help_know_them(self):
        out = self.succeed("list").out
        for name in (*PAIRS, *PAIRS.values()):
            self.assertIn(f" {name} ", out)
        out = self.succeed("memory", "--help").out
        for line in out.split("\nExamples:\n")[1].splitlines():
            if "--config" not in line:
                words = (*line.split("#")[0].split()[1:], "--plan")
                if "cuda" in line and tessera.DEVICE != "gpu":
                    # a plan ends as its run would
                    self.fail_with(USAGE, *words, words="needs a GPU")
                else:
                    self.succeed(*words)

    def test_wrong_requests_are_told_in_one_line(self):
        for words, expected in ((("--probe", "fasle_sharing"), "false_sharing"),
                                (("--size", "many"), "--size"),
                                (("--issue", "depth"), "--issue is an option of GPU probes"),
                                (("--issue", "sideways"), "'sideways'"),
                                (("--passes", 0), "--passes"), (("--page", 64), "--page"),
                                (("--timeline",), "unknown option --timeline"),
                                (("--rounds", -1), "--rounds"), (("--stride", "-8"), "--stride"),
                                (("--prob", "cold"), "did you mean 'probe'")):
            with self.subTest(words=words):
                self.fail_with(USAGE, "memory", *words, words=expected)

    def test_pages_have_units(self):
        words = ("--kernel", "cuda_chase_pages", "--page", "64KiB,2MiB", "--size", "4MiB",
                 "--rounds", 64, "--repetitions", 1)
        if tessera.DEVICE == "gpu":
            points = json.loads(self.succeed("memory", *words, "--json").out)["points"]
            self.assertEqual([one["settings"]["page"] for one in points], [64 << 10, 2 << 20])
        else:
            self.fail_with(USAGE, "memory", *words, words="needs a GPU")
        self.fail_with(USAGE, "memory", *words[:2], "--page", "2GiB", words="--page")
        self.assertIn("cuda_chase_pages (default 2 MiB)",
                      " ".join(self.succeed("memory", "--help").out.split()))

    def test_too_large_is_told_before_anything_is_allocated(self):
        self.fail_with(tessera.MEMORY, "memory", "--probe", "capacity", "--size", "100TiB")
        self.fail_with(USAGE, "memory", "--probe", "conflict", "--size", "900TB", "--stride", "1TB")

    def test_several_ranks_are_refused(self):
        self.fail_with(USAGE, "memory", "--probe", "conflict", ranks=2, words="one rank")


class Counters(tessera.Case):
    def counted(self, *words):
        """Returns the rows of the table, and the output; skips where the machine has hardware
        counters."""
        path = self.path("c.h5")
        out = self.succeed(*words, "--counters", *QUICK, "--results", path, "--again").out
        with h5py.File(path, "r") as file:
            run = list(file.values())[-1]
            table = {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
                     for name, column in run["counters"].items()}
            samples = len(run["samples/seconds"])
        if table["source"][0] == "hardware":
            self.assertEqual(set(table["source"]), {"hardware"})
            self.assertEqual(len(table["cycles"]), samples)
            self.assertIn("cycles_per_instruction", out)
            self.skipTest("this machine counts")
        self.assertEqual(out.count("hardware counters unavailable"), 1, out)
        self.assertIn("simulated instead", out)
        return [dict(zip(table, values)) for values in zip(*table.values())], out

    def test_where_there_are_none_every_workload_is_simulated(self):
        for words in (("matmul", "--n", 64), ("transpose", "--n", 64),
                      ("stencil", "--shape", "64x64", "--steps", 4),
                      ("sort", "--n", 1000, "--kernel", "counting", "--input", "dense"),
                      ("memory", "--probe", "conflict", "--rounds", 10),
                      ("scalability", "matmul", "--n", 40)):
            with self.subTest(words=words):
                rows, out = self.counted(*words)
                for row in rows:
                    self.assertEqual((row["source"], row["repetition"]), ("simulated", -1), row)
                    self.assertGreaterEqual(row["accesses"], row["l1_misses"])
                    self.assertGreaterEqual(row["l1_misses"], row["l2_misses"])
                    self.assertGreaterEqual(row["l2_misses"], row["llc_misses"])
                    self.assertGreater(row["llc_misses"], 0)
                    self.assertTrue(math.isnan(row["cycles"]))

    def test_a_kernel_too_large_to_simulate_stands_in_smaller_and_says_so(self):
        rows, out = self.counted("matmul", "--kernel", "naive,tiled", "--n", 512)
        self.assertEqual([row["what"] for row in rows], ["m 256 n 256 k 256 (smaller)"] * 2)
        self.assertIn("(smaller)", out)

    def test_what_is_not_traced_is_told(self):
        for words, why in ((("matmul", "--n", 32, "--trans-a", "T"),
                            "transposed operands are not traced"),
                           (("stencil", "--shape", "8x8x8", "--steps", 2),
                            "three dimensions are not traced"),
                           (("transpose", "--n", 32, "--in-place"), "in_place is not traced")):
            with self.subTest(words=words):
                rows, out = self.counted(*words)
                self.assertEqual([(row["source"], row["what"]) for row in rows], [("none", why)])
                self.assertIn(why, out)

    def test_stored_points_without_counts_are_measured_again(self):
        words = ("matmul", "--n", 64, *QUICK, "--results", self.path("r.h5"))
        skipped = "1 point already in"
        self.succeed(*words)
        self.assertNotIn(skipped, self.succeed(*words, "--counters").out)
        self.assertIn(skipped, self.succeed(*words, "--counters").out)
        self.assertIn(skipped, self.succeed(*words).out)

    def test_counters_of_many_ranks(self):
        out = self.succeed("matmul", "--n", 64, "--counters", *QUICK, ranks=3).out
        self.assertEqual(out.count("counters"), 1, out)


if __name__ == "__main__":
    tessera.main()
