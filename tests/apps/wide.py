"""Tables of very many columns, and datasets of very many attributes: cost grows linearly with their
number, not quadratically."""

import os
import resource

import tessera
from tessera import h5py, numpy

# six times as many may take twelve times as long; quadratic cost would take 36 times
FEW, TIMES, MOST = 500, 6, 12


class Wide(tessera.Case):
    def seconds(self, *words):
        """Returns CPU seconds of the program and its children."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.succeed(*words, "--overwrite", environment={"OMP_WAIT_POLICY": "passive"})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def check(self, *words):
        """Compares the times for few and many columns. words: with {} for the number of columns."""
        few, many = (self.seconds(*(word.format(n) for word in words)) for n in (FEW, TIMES * FEW))
        self.assertLess(many, MOST * few, words)
        print(f"  {FEW}, {TIMES * FEW}: {few:.2f}, {many:.2f} s of processor time: "
              f"{' '.join(words[:8])}", flush=True)

    def test_tables_of_many_columns(self):
        self.rows = numpy.random.default_rng(tessera.SEED).permutation(50)
        for n in (FEW, TIMES * FEW):
            with h5py.File(self.path(f"t{n}.h5"), "w") as file:
                group = file.create_group("t")
                for c in range(n):
                    group[f"c{c:05d}"] = self.rows + c
        with h5py.File(self.path("p.h5"), "w") as file:
            file["P"] = numpy.argsort(self.rows)
        for words in (("--by", "c00007"), ("--by", "c00007", "--out-of-core", "always"),
                      ("--apply", "p.h5:/P")):
            self.check("sort", "--in", "t{}.h5:/t", *words, "--out", "o{}.h5:/t")
            with h5py.File(self.path(f"o{TIMES * FEW}.h5")) as file:
                self.assertEqual(len(file["t"]), TIMES * FEW)
                for c in (0, 7, TIMES * FEW - 1):
                    self.assertEqual(file[f"t/c{c:05d}"][:].tolist(),
                                     [row + c for row in range(50)])
            os.remove(self.path(f"o{TIMES * FEW}.h5"))

    def test_keys_with_many_attributes(self):
        for n in (FEW, TIMES * FEW):
            with h5py.File(self.path(f"a{n}.h5"), "w", libver="latest") as file:
                keys = file.create_dataset("k", data=numpy.arange(9.0)[::-1])
                for number in range(n):
                    keys.attrs[f"a{number}"] = number
        self.check("sort", "--in", "a{}.h5:/k", "--out", "o{}.h5:/k")
        with h5py.File(self.path(f"o{TIMES * FEW}.h5")) as file:
            self.assertEqual(file["k"].attrs[f"a{TIMES * FEW - 1}"], TIMES * FEW - 1)


if __name__ == "__main__":
    tessera.main()
