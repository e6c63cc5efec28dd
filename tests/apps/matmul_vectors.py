"""tessera matmul against numpy's `@`: vectors, batches of matrices, and both."""

import tessera
from tessera import h5py, numpy

OUT_OF_CORE = ("--out-of-core", "always", "--memory", "400KiB")


class Vectors(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.m, self.k, self.n, self.batch = 37, 53, 29, 5
        shapes = {"mk": (self.m, self.k), "km": (self.k, self.m), "kn": (self.k, self.n),
                  "nk": (self.n, self.k), "k": (self.k,), "m": (self.m,), "n": (self.n,),
                  "one": (1, self.k, self.n), "bmk": (self.batch, self.m, self.k),
                  "bkn": (self.batch, self.k, self.n), "bnk": (self.batch, self.n, self.k),
                  "bmn": (self.batch, self.m, self.n)}
        self.data = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        with h5py.File(self.path("a.h5"), "w") as file:
            for name, values in list(self.data.items()):
                file[name] = values
                file[f"c{name}"] = (values + 1j * rng.normal(size=values.shape)).astype("c16")
                self.data[f"c{name}"] = file[f"c{name}"][()]
                file.create_dataset(f"z{name}", data=values, chunks=True, compression="gzip")
                self.data[f"z{name}"] = values
                packed = numpy.rint(values * 100).astype("i2")
                file[f"p{name}"] = packed
                file[f"p{name}"].attrs["scale_factor"] = 0.01
                self.data[f"p{name}"] = packed * 0.01

    data: dict

    def multiply(self, a, b, *more, **how):
        result = self.succeed("matmul", "--a", f"a.h5:/{a}", "--b", f"a.h5:/{b}", "--out",
                              "c.h5:/C", "--overwrite", *more, **how)
        self.assertIn("passed", result.out)
        with h5py.File(self.path("c.h5")) as file:
            return file["C"][()], [d[0].name[1:] for d in file["C"].dims]

    def check(self, got, want):
        self.assertEqual(numpy.shape(got), numpy.shape(want))
        numpy.testing.assert_allclose(got, want, atol=1e-11)

    def test_vectors_are_as_in_numpy(self):
        for form in ("", "c", "z", "p"):
            for a, b, names in (("mk", "k", ["row"]), ("k", "kn", ["col"]), ("k", "k", []),
                                ("bmk", "k", ["batch", "row"]), ("k", "bkn", ["batch", "col"])):
                want = self.data[form + a] @ self.data[form + b]
                for ranks in (1, 3):
                    got, found = self.multiply(form + a, form + b, ranks=ranks)
                    self.check(got, want)
                    self.assertEqual(found, names)

    def test_matrices_are_transposed_first(self):
        for a, b, words, want in (
                ("km", "k", ("--trans-a", "T"), self.data["km"].T @ self.data["k"]),
                ("k", "nk", ("--trans-b", "T"), self.data["k"] @ self.data["nk"].T),
                ("ckm", "ck", ("--trans-a", "H"), self.data["ckm"].conj().T @ self.data["ck"])):
            for way in ((), OUT_OF_CORE):
                self.check(self.multiply(a, b, *words, *way, ranks=2)[0], want)
        self.check(self.multiply("bmk", "bnk", "--trans-b", "T")[0],
                   self.data["bmk"] @ self.data["bnk"].transpose(0, 2, 1))

    def test_out_of_core(self):
        for a, b in (("mk", "k"), ("k", "kn"), ("zmk", "k"), ("cmk", "ck")):
            self.check(self.multiply(a, b, *OUT_OF_CORE, ranks=2)[0], self.data[a] @ self.data[b])
        for a, b in (("k", "k"), ("bmk", "kn")):
            self.fail_with(tessera.USAGE, "matmul", "--a", f"a.h5:/{a}", "--b", f"a.h5:/{b}",
                           "--out", "d.h5:/C", *OUT_OF_CORE,
                           words="batches and products of two vectors")

    def test_batches_are_as_in_numpy(self):
        for form in ("", "c", "z"):
            for a, b in (("bmk", "bkn"), ("bmk", "kn"), ("mk", "bkn"), ("bmk", "one")):
                for ranks in (1, 4):
                    got, names = self.multiply(form + a, form + b, ranks=ranks)
                    self.check(got, numpy.matmul(self.data[form + a], self.data[form + b]))
                    self.assertEqual(names, ["batch", "row", "col"])
        self.succeed("verify", "c.h5")
        for part, index in (("[1:4]", slice(1, 4)), ("[-3:]", slice(-3, None)), ("[2]", 2)):
            got = self.multiply(f"bmk{part}", f"bkn{part}")[0]
            self.check(got, numpy.matmul(self.data["bmk"][index], self.data["bkn"][index]))
        for algorithm in ("summa", "recursive"):
            got = self.multiply("bmk", "bkn", "--algorithm", algorithm, ranks=4)[0]
            self.check(got, numpy.matmul(self.data["bmk"], self.data["bkn"]))

    def test_c_is_added(self):
        for a, b, c in (("mk", "k", "m"), ("k", "kn", "n"), ("bmk", "bkn", "bmn")):
            got = self.multiply(a, b, "--c", f"a.h5:/{c}", "--alpha", 2, "--beta", -1, ranks=2)[0]
            self.check(got, 2 * numpy.matmul(self.data[a], self.data[b]) - self.data[c])

    def test_results_and_plans_count_all_products(self):
        self.multiply("bmk", "bkn", "--results", "r.h5", "--repetitions", 3)
        with h5py.File(self.path("r.h5")) as file:
            summary = file[sorted(file)[-1]]["summary"]
            self.assertEqual(summary["batch"][0], self.batch)
            work = 2 * self.batch * self.m * self.n * self.k / 1e9
            self.assertAlmostEqual(summary["rate"][0] * summary["median"][0] / work, 1, 6)
        plan = self.succeed("matmul", "--a", "a.h5:/bmk", "--b", "a.h5:/bkn", "--plan").out
        self.assertIn("one of 5 products after the other", plan)

    def test_refusals(self):
        with h5py.File(self.path("a.h5"), "r+") as file:
            file["four"], file["two"] = numpy.zeros((2, 2, 2, 2)), numpy.zeros((2, self.k, self.n))
            file["none"] = numpy.zeros((0, self.k, self.n))
        for code, a, b, more, words in (
                (tessera.USAGE, "k", "kn", ("--trans-a", "T"), "--trans-a conflicts with a.h5:/k,"),
                (tessera.USAGE, "mk", "k", ("--trans-b", "T"), "--trans-b conflicts with a.h5:/k,"),
                (tessera.USAGE, "ck", "cnk", ("--trans-b", "H"), "--trans-b H conflicts"),
                (tessera.BAD_DATA, "mk", "m", (), "the inner dimensions differ"),
                (tessera.BAD_DATA, "m", "k", (), "the inner dimensions differ"),
                (tessera.BAD_DATA, "bmk", "two", (), "a.h5:/bmk holds 5 matrices"),
                (tessera.BAD_DATA, "bmk", "none", (), "the batches differ"),
                (tessera.BAD_DATA, "four", "kn", (), "4"),
                (tessera.BAD_DATA, "mk", "k", ("--c", "a.h5:/n", "--beta", 1), "of that shape")):
            self.fail_with(code, "matmul", "--a", f"a.h5:/{a}", "--b", f"a.h5:/{b}", *more,
                           words=words)


if __name__ == "__main__":
    tessera.main()
