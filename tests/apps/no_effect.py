"""Options without effect: refused in one line, or reported if that depends on the data."""

import tessera
from tessera import USAGE, h5py, numpy

QUICK = ("--repetitions", 1, "--warmups", 0)


class NoEffect(tessera.Case):
    def setUp(self):
        super().setUp()
        with h5py.File(self.path("in.h5"), "w") as file:
            file["A"] = numpy.arange(49.0).reshape(7, 7)
            file["k"] = numpy.arange(5)[::-1]
            file["order"] = numpy.arange(5)

    def test_is_refused(self):
        matrix, keys, order = "in.h5:/A", "in.h5:/k", "in.h5:/order"
        product, sort, field = ("matmul", "--n", 8), ("sort", "--in",
                                                      keys), ("stencil", "--in", matrix, "--steps",
                                                              1)
        for words, named in (
                ((*product, "--ranks", 5), ("--ranks", "--plan", "mpirun -n")),
                ((*product, "--grid", "1x1"), ("--grid", "summa", "--algorithm")),
                ((*product, "--verify-output", "all"), ("--verify-output", "--out")),
                ((*product, "--out", "c.h5:/C", "--out-of-core", "always", "--panel", 7),
                 ("--panel", "--out-of-core always")),
                ((*product, "--timeline"), ("--timeline", "--results")),
                (("transpose", "--in", matrix, "--n", 5), ("--n", "--in")),
                (("transpose", "--in", matrix, "--verify-output", "sample"),
                 ("--verify-output", "--out")),
                ((*sort, "--n", 5), ("--n", "--in")),
                ((*sort, "--input", "zipf"), ("--input", "--in")),
                ((*sort, "--out", "s.h5:/k", "--argsort", "s.h5:/k"),
                 ("--out", "--argsort", "same")),
                ((*sort, "--verify-output", "all"), ("--verify-output", "--out", "--argsort")),
                ((*sort, "--scratch", "runs"), ("--scratch", "--out", "--argsort")),
                ((*sort, "--scratch", "runs", "--out", "s.h5:/k", "--out-of-core", "never"),
                 ("--scratch", "--out-of-core never")),
                ((*sort, "--scratch", "runs", "--out", "s.h5:/k", "--apply", order),
                 ("--scratch", "--apply")),
                ((*sort, "--scratch", "runs", "--out", "s.h5:/k", "--quantiles", 0.5),
                 ("--scratch", "--quantiles")),
                ((*sort, "--out-of-core", "always", "--out", "s.h5:/k", "--quantiles", 0.5),
                 ("--out-of-core", "--quantiles")),
                (("sort", "--n", 9, "--argsort", "s.h5:/k", "--scratch", "runs"),
                 ("--scratch", "generated")),
                ((*sort, "--out", "s.h5:/k", "--apply", order, "--kernel", "radix"),
                 ("--kernel", "--apply")),
                ((*sort, "--out", "s.h5:/k", "--apply", order, "--algorithm", "exact"),
                 ("--algorithm", "--apply")),
                ((*sort, "--out", "s.h5:/k", "--apply", order, "--type", "f32"),
                 ("--type", "--apply")),
                ((*sort, "--out", "s.h5:/k", "--apply", order, "--counters"),
                 ("--counters", "--apply")),
                ((*sort, "--quantiles", 0.5, "--kernel", "radix"), ("--kernel", "--quantiles")),
                ((*field, "--checkpoint-every", 5), ("--checkpoint-every", "--checkpoint")),
                ((*field, "--probe-every", 1), ("--probe-every", "--probe", "--norms")),
                ((*field, "--verify-output", "all"), ("--verify-output", "--out", "--snapshots")),
                ((*field, "--xdmf"), ("--xdmf", "--out"))):
            with self.subTest(words):
                self.fail_with(USAGE, *words, words=named)

    def test_what_has_one_is_taken(self):
        for words in (("matmul", "--n", 8, "--grid", "1x1", "--algorithm", "recursive,summa"),
                      # no read-back, as requested
                      ("matmul", "--n", 8, "--verify-output", "off"),
                      ("matmul", "--n", 8, "--timeline", "--results", "r.h5"),
                      ("stencil", "--shape", 8, "--steps", 1, "--snapshots", "s.h5:/u", "--every",
                       1, "--verify-output", "all"),
                      ("sort", "--in", "in.h5:/k", "--argsort", "p.h5:/p", "--verify-output",
                       "all"),
                      ("sort", "--n", 1000, "--out", "g.h5:/k", "--scratch", "runs",
                       "--out-of-core", "always", "--memory", "4KiB")):
            with self.subTest(words):
                self.succeed(*words)

    def test_a_point_named_twice_is_measured_once(self):
        """--threads 0 equals the explicit number of threads, in the same run or in the results."""
        def measured(*words):
            request = ("matmul", *words, "--repetitions", 1, "--warmups", 0, "--results", "r.h5")
            result = self.succeed(*request, threads=2, ranks=2)
            with h5py.File(self.path("r.h5")) as file:
                return result.out, len(file[sorted(file)[-1]]["summary/n"])

        self.assertEqual(measured("--n", "8,9,8", "--kernel", "naive,tiled,naive")[1], 4)
        self.assertEqual(measured("--n", 10, "--threads", "1,0,2")[1], 2)
        for words in ((), ("--threads", 2), ("--threads", 0)):
            self.assertIn("1 point already in r.h5: skipped", measured("--n", 10, *words)[0])

    def test_scratch_that_was_not_needed_is_said(self):
        request = ("sort", "--in", "in.h5:/k", "--scratch", "runs", "--out")
        self.assertIn("--scratch without effect", self.succeed(*request, "s.h5:/k").out)
        self.assertNotIn("--scratch", self.succeed(*request, "t.h5:/k", "--out-of-core",
                                                   "always").out)

    def test_a_pass_from_file_to_file_is_counted_and_watched_once(self):
        for words in (("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A"),
                      ("transpose", "--in", "in.h5:/A"), ("sort", "--in", "in.h5:/k")):
            with self.subTest(words[0]):
                result = self.succeed(*words, "--out", f"{words[0]}.h5:/x", "--out-of-core",
                                      "always", "--counters", "--timeline",
                                      "--results", "r.h5", "--repetitions", 3)
                self.assertIn("counters", result.out)
                self.assertIn("--repetitions has no effect", result.err)
                with h5py.File(self.path("r.h5")) as file:
                    run = file[f"{words[0]}_0001"]
                    self.assertEqual(list(run["summary/repetitions"]), [1])
                    self.assertGreater(len(run["timeline/begin"]), 0)

    def test_options_of_gpus_beside_a_kernel_of_the_cpu_are_said(self):
        for words in (("matmul", "--n", 8, "--kernel", "tiled"),
                      ("matmul", "--n", 8, "--device", "cpu"), ("transpose", "--n", 8),
                      ("stencil", "--shape", 8, "--steps", 1), ("sort", "--n", 8),
                      ("sort", "--n", 8, "--kernel", "radix,std")):
            for flags, said in ((("--device-memory", "1GiB"), "--device-memory without effect"),
                                (("--gpu-ranks", 1), "--gpu-ranks without effect"),
                                (("--device-memory", "1GiB", "--gpu-ranks", 1),
                                 "--device-memory and --gpu-ranks without effect"),
                                (("--device-memory", 0), None), ((), None)):
                with self.subTest((words, flags)):
                    err = self.succeed(*words, *flags, "--repetitions", 1,
                                       ranks=2 if said and len(flags) == 4 else 0).err
                    self.assertEqual(err.count("without effect"), 1 if said else 0, err)
                    self.assertIn(said or "", err)
        self.assertNotIn("without effect", self.run_tessera("sort", "--n", 8, "--device", "gpu",
                                                            "--device-memory", "1GiB").err)
        with open(self.path("both.toml"), "w") as file:  # for machines with and without GPUs
            file.write('device-memory = "1GiB"\nn = 8\n')
        self.assertNotIn("without effect", self.succeed("sort", "--config", "both.toml").err)

    def test_options_of_other_kernels_and_ways_are_said(self):
        field = ("stencil", "--shape", 8, "--steps", 1)
        for words, option, users in ((("matmul", "--n", 8, "--panel", 4), "--panel",
                                      "--algorithm summa"),
                                     (("matmul", "--n", 8, "--algorithm", "summa", "--slices", 2),
                                      "--slices", "--algorithm recursive"),
                                     (("transpose", "--n", 8, "--tile", "4,8"), "--tile",
                                      "--kernel tiled, recursive"),
                                     ((*field, "--tile-x", 4), "--tile-x", "--kernel tiled"),
                                     ((*field, "--kernel", "naive", "--base-steps", 4),
                                      "--base-steps", "--kernel cache_oblivious")):
            with self.subTest(words):
                self.assertIn(f"{option} has no effect: it applies to {users}",
                              self.succeed(*words, *QUICK, ranks=2 if "--panel" in words
                                           else 0).err)
        for words in (("matmul", "--n", 8, "--kernel", "naive,tiled", "--tile", 4),
                      ("transpose", "--n", 8, "--piece", "1KiB"),
                      (*field, "--base-steps", 2)):
            self.assertNotIn("has no effect", self.succeed(*words, *QUICK).err)


if __name__ == "__main__":
    tessera.main()
