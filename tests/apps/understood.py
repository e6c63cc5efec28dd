"""Requests that are probably not meant: a note says what was understood, and how to say the
other."""

import tessera
from tessera import h5py, numpy

OUT = ("--out", "o.h5:/X", "--overwrite")


class Understood(tessera.Case):
    def setUp(self):
        super().setUp()
        values = numpy.arange(400.0)
        values[::8] = numpy.nan
        with h5py.File(self.path("in.h5"), "w") as file:
            file["k"], file["A"] = values, values.reshape(20, 20)
            file["whole"], file["i"] = numpy.arange(400.0), numpy.arange(50)
            file["B"] = numpy.ones((20, 20))
            file["none"] = numpy.zeros((0, 5))

    def note_of(self, *words, **how):
        """Returns the note of a run, "" if there is none."""
        lines = [line for line in self.succeed(*words, **how).err.splitlines()
                 if line.startswith("note: ")]
        self.assertLessEqual(len(lines), 1, lines)
        return lines[0] if lines else ""

    def test_a_shape_with_commas(self):
        words = ("stencil", "--steps", 1, "--shape")
        self.assertIn("--shape 64x64 for one field of 2 dimensions", self.note_of(*words, "64,64"))
        self.assertIn("--shape 8x9x10", self.note_of(*words, "8,9,10"))
        for shape in ("64x64", "64", "64x64,32x32", "8,16,32,64"):
            self.assertEqual(self.note_of(*words, shape), "", shape)

    def test_a_result_of_files_without_output(self):
        jobs = {("sort", "--in", "in.h5:/whole"): (("--argsort", "p.h5:/k"), ("--quantiles", 0.5)),
                ("matmul", "--a", "in.h5:/B", "--b", "in.h5:/B"): (),
                ("transpose", "--in", "in.h5:/B"): (),
                ("stencil", "--in", "in.h5:/B", "--steps", 2):
                    (("--snapshots", "n.h5:/u"), ("--checkpoint", "c.h5"))}
        for number, (words, kept) in enumerate(jobs.items()):
            self.assertIn("discarded; write --out FILE:/PATH", self.note_of(*words))
            for more in (("--out", f"s{number}.h5:/k"), ("--results", "r.h5"), ("--plan",), *kept):
                self.assertEqual(self.note_of(*words, *more), "", (words, more))
        for words in (("sort", "--n", 100), ("matmul", "--n", 10), ("transpose", "--n", 10),
                      ("stencil", "--shape", "9x9", "--steps", 2)):
            self.assertEqual(self.note_of(*words), "", words)

    def test_nan(self):
        for ranks in (0, 3):
            for order in ((), ("--descending",)):
                note = self.note_of("sort", "--in", "in.h5:/k", "--quantiles", "0.5", *order,
                                    ranks=ranks)
                self.assertIn("50 of 400 keys are NaN", note)
            self.assertIn("50 of 400 cells of the input are NaN",
                          self.note_of("stencil", "--in", "in.h5:/A", "--steps", 2, *OUT,
                                       ranks=ranks))
        for name in ("whole", "i"):
            self.assertEqual(self.note_of("sort", "--in", f"in.h5:/{name}", "--quantiles", 0.5), "")
        self.assertEqual(self.note_of("stencil", "--in", "in.h5:/whole", "--steps", 2, *OUT), "")

    def test_the_way_out_for_nan_in_a_field(self):
        with h5py.File(self.path("in.h5"), "r+") as file:
            file["A"].attrs["_FillValue"] = numpy.nan
        self.assertEqual(self.note_of("stencil", "--in", "in.h5:/A", "--steps", 2, "--fill",
                                      "mask", *OUT), "")

    def test_an_input_that_is_small_for_the_ranks(self):
        self.assertIn("3 of 5 ranks have no data", self.note_of("sort", "--n", 2, ranks=5))
        self.assertIn("use 4 ranks", self.note_of("stencil", "--shape", 4, "--steps", 1, ranks=5))
        self.assertEqual(self.note_of("sort", "--n", 5, ranks=5), "")
        self.assertIn("2 of 5 ranks have no data", self.note_of("matmul", "--n", 3, ranks=5))
        self.assertIn("use 2 ranks", self.note_of("transpose", "--n", 2, ranks=3))
        self.assertEqual(self.note_of("matmul", "--n", 100, ranks=3), "")
        self.assertEqual(self.note_of("transpose", "--in", "in.h5:/none", *OUT, ranks=2), "")
        self.assertEqual(self.note_of("transpose", "--n", 100, ranks=3), "")


if __name__ == "__main__":
    tessera.main()
