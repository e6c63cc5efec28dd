"""GPUs on paper from the outside: tables, JSON, results, pictures, own GPUs, errors; and the
occupancy of a block that exists on paper."""
import json

import h5py
import numpy

import tessera

OWN = """name = "mine"
compute-capability = "8.6"
multiprocessors = 10
clock-mhz = 1000
bandwidth-gb-s = 100
latency-clocks = 500
f32-tflops = 2.5
f64-tflops = 0.1
"""


def segments_of(addresses, piece):
    return len(numpy.unique(addresses // piece))


class Paper(tessera.Case):
    def tables(self, *words):
        """Returns {table: rows as dicts} of a run with --json."""
        answer = json.loads(self.succeed(*words, "--json").out)
        return {table["table"]: table["rows"] for table in answer["tables"]}

    def refuse(self, *words, said):
        result = self.run_tessera(*words)
        self.assertEqual(result.code, tessera.USAGE, str(result))
        self.assertIn(said, result.err)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_the_ladder_is_one_table(self):
        out = self.succeed("locality", "transpose", "--device", "paper", "--type", "f32", "--n",
                           128, environment={"COLUMNS": None}).out
        self.assertRegex(out, r"cuda_naive +4\.00 +32\.00 +- +- ")
        self.assertRegex(out, r"cuda_coalesced +4\.00 +4\.00 +32\.00 +1\.00 ")
        self.assertRegex(out, r"cuda_conflict_free +4\.00 +4\.00 +1\.00 +1\.00 ")
        self.assertEqual(out.count("cuda_diagonal"), 2)
        self.assertLessEqual(max(len(line) for line in out.splitlines()), 80)

    def test_naive_transposes_are_counted_as_numpy_does(self):
        random = numpy.random.default_rng(11)
        for m, n in random.integers(1, 120, (4, 2)):
            lda, ldb = -(-n // 4) * 4, -(-m // 4) * 4
            want = {"load": [0, 0, 0], "store": [0, 0, 0]}
            for i in range(m):
                for j0 in range(0, n, 32):
                    j = numpy.arange(j0, min(n, j0 + 32))
                    for kind, at in (("load", 4 * (i * lda + j)), ("store", 4 * (j * ldb + i))):
                        for k, found in enumerate((1, segments_of(at, 32), segments_of(at, 128))):
                            want[kind][k] += found
            rows = self.tables("locality", "transpose", "--device", "paper:a100", "--kernel",
                               "cuda_naive", "--type", "f32", "--m", m, "--n", n)["paper_arrays"]
            for row in rows:
                self.assertEqual([row["requests"], row["segments"], row["lines"]],
                                 want[row["kind"]], f"{m} x {n} {row['kind']}")

    def test_every_workload_runs_and_resumes(self):
        for workload, kernels in (("transpose", 8), ("matmul", 5), ("stencil", 4), ("memory", 21)):
            words = ("locality", workload, "--device", "paper:v100", "--n", 1024 if
                     workload == "memory" else 40, "--results", f"{workload}.h5")
            self.assertIn(f"group {'locality'}_0001", self.succeed(*words).out)
            with h5py.File(self.path(f"{workload}.h5")) as file:
                self.assertEqual(len(file["locality_0001/paper/kernel"]), kernels)
                self.assertEqual(set(file["locality_0001/paper/device"].asstr()[:]), {"v100"})
            self.assertIn(f"{kernels} points already in", self.succeed(*words).out)

    def test_the_report_shows_requests_and_bounds(self):
        self.succeed("locality", "transpose", "--device", "paper:h100,paper:gtx580", "--n", 64,
                     "--kernel", "cuda_copy,cuda_naive", "--type", "f32", "--results", "p.h5")
        text = self.succeed("report", "p.h5", "--text").out
        for words in ("cuda_naive on gtx580", "on paper: requests of a warp",
                      "transpose on paper, bounds of the time"):
            self.assertIn(words, text)

    def test_options_are_those_that_a_kernel_on_paper_takes(self):
        text = self.succeed("locality", "--help").out
        for name, taken in (("offset", True), ("lane-stride", True), ("bins", True),
                            ("ways", True), ("streams", False), ("issue", False),
                            ("host-rounds", False), ("page", False), ("passes", False)):
            self.assertEqual(f"\n  --{name} N " in text, taken, name)
        self.refuse("locality", "memory", "--device", "paper", "--kernel", "cuda_copy", "--passes",
                    2, said="unknown option --passes")

    def test_a_quiz_of_switches(self):
        rows = self.tables("locality", "memory", "--device", "paper", "--n", 16384, "--kernel",
                           "switch_x_mod_32,switch_x_mod_64,switch_y_64x16,switch_y_16x16,"
                           "cuda_divergence", "--ways", 7)["paper"]
        self.assertEqual([row["ways"] for row in rows], [32, 32, 1, 2, 7])

    def test_a_tile_is_walked_thread_by_thread(self):
        """Tiles of 2 x 2 of a product of 4 x 4: two loads, two stores to shared memory and four
        loads from it a thread, twice, and one store."""
        words = ("locality", "matmul", "--kernel", "cuda_tiled", "--n", 4, "--tile", 2, "--type",
                 "f32", "--diagram", 8)
        out = self.succeed(*words, environment={"COLUMNS": None}).out
        self.assertIn("block 0 of 4, thread by thread\n", out)
        for line in ("    1  load    a          0:[0,0]  1:[0,1]  2:[1,0]  3:[1,1]\n",
                     "    4  store   tile of b  0:[0,0]  1:[0,1]  2:[1,0]  3:[1,1]\n"
                     "          barrier\n",
                     "    5  load    tile of a  0:[0,0]  1:[0,0]  2:[1,0]  3:[1,0]\n",
                     "    6  load    tile of b  0:[0,0]  1:[0,1]  2:[0,0]  3:[0,1]\n",
                     "    9  load    a          0:[0,2]  1:[0,3]  2:[1,2]  3:[1,3]\n",
                     "   17  store   c          0:[0,0]  1:[0,1]  2:[1,0]  3:[1,1]\n"):
            self.assertIn(line, out)
        self.assertNotIn("   18  ", out)
        tables = self.tables(*words)
        marks = tables["marks"]
        count = {array: sum(row["array"] == array for row in marks)
                 for array in {row["array"] for row in marks}}
        self.assertEqual(count, {"a": 32, "b": 32, "c": 16, "tile of a": 96, "tile of b": 96})
        self.assertEqual({row["array"] for row in marks if row["fetched"]}, {"a", "b", "c"})
        self.assertEqual(sum(row["fetched"] for row in marks), 6)  # segments of 32 bytes: all fit
        arrays = {row["array"]: row for row in tables["arrays"]}
        self.assertEqual(arrays["tile of a"]["begin"], 3 * 64)
        self.assertEqual(arrays["c"]["line_bytes"], 32)

    def test_diagrams_of_cuda_kernels(self):
        for workload, kernel in (("matmul", "cuda_naive"), ("transpose", "cuda_naive"),
                                 ("transpose", "cuda_conflict_free"), ("stencil", "cuda_naive")):
            with self.subTest(workload, kernel=kernel):
                out = self.succeed("locality", workload, "--kernel", kernel, "--n", 33,
                                   "--diagram", 16, "--results", "d.h5", "--again").out
                self.assertIn("thread by thread", out)
                self.assertIn("...", out)  # more threads than a line has room for
        self.succeed("locality", "transpose", "--device", "paper:a100", "--kernel", "cuda_diagonal",
                     "--n", 64, "--diagram", 4, "--results", "d.h5")
        with h5py.File(self.path("d.h5")) as file:
            groups = list(file.values())
            self.assertIn("density", groups[0])  # 73,000 accesses
            self.assertIn("marks", groups[-1])
            for group in groups:
                self.assertEqual(set(group["arrays/line_bytes"][:]), {32})
        result = self.run_tessera("report", "d.h5", "--text")
        self.assertEqual(result.code, 0, str(result))
        self.assertIn("fetches in", result.out)
        self.assertIn("with a cache of 16 segments (512 B)", result.out)

    def test_own_gpus_and_what_is_wrong_with_them(self):
        self.write("mine.toml", OWN)
        row, = self.tables("locality", "transpose", "--device", "paper:mine.toml", "--kernel",
                           "cuda_copy", "--n", 64)["paper"]
        self.assertEqual((row["device"], row["compute_capability"]), ("mine", "8.6"))
        self.assertAlmostEqual(row["flight_needed"], 500 / 1e9 * 100e9 / 10)
        for text, words in ((OWN.replace("clock-mhz", "clok-mhz"), "mine.toml:4:1: unknown key "
                             "'clok-mhz'; did you mean 'clock-mhz'?"),
                            (OWN.replace("multiprocessors = 10\n", ""),
                             "mine.toml: a GPU requires the key 'multiprocessors'; add it"),
                            (OWN.replace("= 100\n", "= -1\n"), "bandwidth-gb-s"),
                            (OWN.replace("8.6", "4.7"), "compute-capability: compute capability "
                             "'4.7' is unknown"),
                            (OWN + "segment = 48\n", "segment: 48 does not divide")):
            self.write("mine.toml", text)
            self.refuse("locality", "transpose", "--device", "paper:mine.toml",
                        said=words)

    def test_wrong_requests_end_before_anything_runs(self):
        paper = ("--device", "paper")
        for words, said in ((("transpose", "--device", "h100"), "is not a GPU on paper"),
                            (("transpose", "--device", "paper:h10"), "did you mean 'h100'?"),
                            (("sort", *paper), "sort has no kernels on paper"),
                            (("memory", "--kernel", "cuda_copy"), "add --device paper"),
                            (("memory", *paper, "--m", 2), "--m"),
                            (("memory", *paper, "--pad", 2), "--pad"),
                            (("transpose", *paper, "--kernel", "cuda_naiv"), "cuda_naive"),
                            (("transpose", *paper, "--cache", "4KiB"), "--cache"),
                            (("transpose", *paper, "--gpu", "8:1KiB:1MiB:64"), "drop one of them"),
                            (("matmul", "--n", 8, "--ways", 2), "--ways"),
                            (("matmul", *paper, "--kernel", "cuda_tiled", "--tile", 33),
                             "--tile 33 exceeds"),
                            (("matmul", *paper, "--kernel", "cuda_register", "--n", 7),
                             "multiples of 2"),
                            (("matmul", *paper, "--block", 33), "--block 33"),
                            (("transpose", *paper, "--n", 0), "empty"),
                            (("memory", *paper, "--type", "f64"), "use u32"),
                            (("stencil", *paper, "--stencil", "wave"), "one time level")):
            self.refuse("locality", *words, said=said)

    def test_variables_of_other_commands_mean_nothing_here(self):
        for device in ("cpu", "gpu", "auto"):
            out = self.succeed("locality", "matmul", "--n", 8,
                               environment={"TESSERA_DEVICE": device}).out
            self.assertIn("simulated in", out)
        self.succeed("list", "--occupancy", environment={"TESSERA_RESULTS": "r.h5",
                                                         "TESSERA_THREADS": "2000"})

    def test_occupancy_of_a_block(self):
        block = ("list", "--occupancy", "--threads", 256, "--registers", 40, "--shared", "8KiB")
        out = self.succeed(*block, "--cc", "9.0").out
        self.assertIn("6 blocks, 48 warps: occupancy 75 %, limited by registers", out)
        self.assertRegex(out, r"shared memory +9 KiB +228 KiB +25\n")
        rows = {row["compute_capability"]: row for row in self.tables(*block)["occupancy"]}
        self.assertEqual(rows["2.0"]["blocks"], 3)  # 32768 registers
        self.assertEqual(rows["7.5"]["occupancy"], 1)
        self.assertGreaterEqual(len(rows), 14)
        self.refuse(*block, "--cc", "4.0", said="cc")
        self.refuse("list", "--occupancy", "--threads", 1025, said="1 to 1024")
        self.refuse("list", "--occupancy", "--results", "o.h5", said="--threads")
        out = self.succeed("list", "--occupancy").out
        if tessera.DEVICE != "gpu":
            self.assertIn("describe a block with --threads", " ".join(out.split()))

    def test_the_three_curves_are_kept_and_drawn(self):
        self.succeed("list", "--occupancy", "--threads", 256, "--registers", 40, "--shared", "8KiB",
                     "--cc", "9.0", "--results", "o.h5")
        with h5py.File(self.path("o.h5")) as file:
            group = file["list_0001/occupancy"]
            column = {name: group[name][:] for name in ("threads", "registers", "occupancy")}
            curve = group["curve"].asstr()[:]
        found = {name: dict(zip(column[name][curve == name], column["occupancy"][curve == name]))
                 for name in ("threads", "registers")}
        self.assertEqual([found["registers"][n] for n in (32, 40, 64, 255)], [1, 0.75, 0.5, 0.125])
        self.assertEqual(len(found["threads"]), 32)
        self.assertEqual(found["threads"][1024], 0.5)
        self.assertEqual((curve == "shared memory").sum(), 2 * 227 + 1)
        text = self.succeed("report", "o.h5", "--text").out
        for label in ("threads per block", "registers per thread",
                      "KiB of shared memory per block"):
            self.assertIn(label, text)


if __name__ == "__main__":
    tessera.main()
