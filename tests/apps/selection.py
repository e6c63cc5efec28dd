"""Part of a dataset as an operand, in numpy's notation: every workload, against numpy."""

import tessera
from tessera import h5py, numpy


class Selections(tessera.Case):
    def setUp(self):
        super().setUp()
        self.a = numpy.random.default_rng(tessera.SEED).random((6, 90, 110))

    def test_operands_of_a_product(self):
        for storage in ("contiguous", "chunked", "gzip", "userblock"):
            name = tessera.write_matrix(self.path("a.h5"), self.a, storage)
            for ranks in (0, 4):
                self.succeed("matmul", "--a", f"{name}[2, :70, 5:65]", "--b",
                             f"{name}[-1,30:,-33:]", "--out", "c.h5:/C",
                             "--overwrite", ranks=ranks)
                numpy.testing.assert_allclose(tessera.read_matrix(self.path("c.h5")),
                                              self.a[2, :70, 5:65] @ self.a[-1, 30:, -33:],
                                              rtol=1e-12)

    def test_transposes_in_memory_and_out_of_core(self):
        for storage in ("contiguous", "chunked"):
            name = tessera.write_matrix(self.path("a.h5"), self.a, storage)
            for more in ((), ("--out-of-core", "always", "--memory", "16KiB")):
                for ranks in (0, 3):
                    self.succeed("transpose", "--in", f"{name}[3,7:,:-20]", "--out", "t.h5:/T",
                                 "--overwrite", *more, ranks=ranks)
                    numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"),
                                                     self.a[3, 7:, :-20].T)
                    self.succeed("transpose", "--in", f"{name}[1:4,:,10]", "--axes", "1,0", "--out",
                                 "t.h5:/T", "--overwrite", *more,
                                 ranks=ranks)
                    numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"),
                                                     self.a[1:4, :, 10].T)

    def test_a_part_of_a_field(self):
        name = tessera.write_matrix(self.path("a.h5"), self.a)
        for ranks in (0, 3):
            self.succeed("stencil", "--in", f"{name}[:,4,3:60]", "--steps", 0, "--out", "u.h5:/u",
                         "--overwrite", ranks=ranks)
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("u.h5"), "u"),
                                             self.a[:, 4, 3:60])

    def test_a_dataset_of_that_very_name_goes_first(self):
        with h5py.File(self.path("n.h5"), "w") as file:
            file["A"], file["A[0]"], file["g/B[1:2,:]"] = self.a[1:3], self.a[4], self.a[5]
        for ranks in (0, 3):
            self.succeed("matmul", "--a", "n.h5:/A[0]", "--trans-a", "T", "--b",
                         "n.h5:/A[0][:,3:40]", "--out", "c.h5:/C", "--overwrite",
                         ranks=ranks)
            numpy.testing.assert_allclose(tessera.read_matrix(self.path("c.h5")),
                                          self.a[4].T @ self.a[4, :, 3:40], rtol=1e-12)
        for part, want in (("A[1]", self.a[2]), ("g/B[1:2,:]", self.a[5]),
                           ("g/B[1:2,:][-5:]", self.a[5, -5:])):
            self.succeed("transpose", "--in", "n.h5:/" + part, "--out", "t.h5:/T", "--overwrite")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), want.T)

    def test_refusals(self):
        name = tessera.write_matrix(self.path("a.h5"), self.a)
        for part, word in [("[0,:91,:]", "dimension 1"), ("[6,:,:]", "6 is outside dimension 0"),
                           ("[0,5:4,:]", "dimension 1"),
                           ("[0,::2,:]", "without steps"), ("[0,0,0,0]", "4 dimensions"),
                           ("[,]", "not a valid selection")]:
            with self.subTest(part=part):
                self.fail_with(tessera.USAGE, "transpose", "--in", name + part, "--out", "t.h5:/T",
                               words=word, ranks=2)
        self.fail_with(tessera.BAD_DATA, "matmul", "--a", f"{name}[0,0]", "--b", f"{name}[0]",
                       words=("inner dimensions", "is 110,", "is 90 x 110"))
        self.fail_with(tessera.BAD_DATA, "matmul", "--a", f"{name}[0,0,0]", "--b", f"{name}[0]",
                       words="matrix")
        self.fail_with(tessera.MISSING, "matmul", "--a", f"{name}[x]", "--b", f"{name}[0]",
                       words="A[x]")
        for more in (("--in", f"{name}[0,0]"), ("--in", name, "--apply", f"{name}[0,0]", "--out",
                                                "s.h5:/s")):
            self.fail_with(tessera.MISSING, "sort", *more,
                           words=(more[-3 if len(more) > 2 else -1][-6:],
                                  "does not accept a selection"))


if __name__ == "__main__":
    tessera.main()
