"""Number of collective MPI calls of a run from its start to its first repetition.
TESSERA_COUNTED_COLLECTIVES is the library that counts them (collectives.c)."""

import os

import tessera
from tessera import h5py, numpy

LIBRARY = os.environ.get("TESSERA_COUNTED_COLLECTIVES", "")
# Where there may be GPUs, their energy is read behind one more barrier.
MORE = int(os.path.exists("/dev/nvidiactl"))
MAKE = ("Comm_", "Win_")  # creation of communicators and windows, and its trial

FIELD = ("--shape", "64x64", "--steps", 2)
# Upper bounds by request, on 4 ranks of a node: small messages, and creations.
GENERATED = {
    ("matmul", "--n", 200): (6, 5),
    ("matmul", "--n", 200, "--algorithm", "summa"): (6, 4),
    ("transpose", "--n", 200): (6, 5),
    ("transpose", "--shape", "20,30,40", "--axes", "2,0,1"): (5, 2),
    ("stencil", *FIELD): (6, 5),
    ("sort", "--n", 1000): (5, 2),
}
# Upper bounds with inputs, whose names and types are broadcast and whose reading may fail.
FROM_FILES = {
    ("transpose", "--in", "in.h5:/A"): (8, 5),
    ("stencil", "--in", "in.h5:/A", "--steps", 2): (8, 5),
    ("sort", "--in", "in.h5:/key"): (9, 2),
}


class Collectives(tessera.Case):
    def calls_of(self, *words):
        """Returns (small messages, creations) by the names of the calls, of rank 0 of 4."""
        if not LIBRARY:
            self.skipTest("TESSERA_COUNTED_COLLECTIVES names no library")
        names = self.path("calls")
        result = self.run_tessera(f"LD_PRELOAD={LIBRARY}", f"TESSERA_COLLECTIVES={names}",
                                  tessera.PROGRAM, *words,
                                  program="env", ranks=4)
        self.assertEqual(result.code, tessera.OK, str(result))
        with open(names) as file:
            calls = [line.split()[0] for line in file]
        made = [call for call in calls if call.startswith(MAKE)]
        return [call for call in calls if not call.startswith(MAKE)], made

    def assert_few(self, words, messages, made):
        talked, built = self.calls_of(*words)
        # the roll call, and the barrier before the timing
        self.assertGreater(len(talked), 1, words)
        self.assertLessEqual(len(talked), messages + MORE, f"{words}: {' '.join(talked)}")
        self.assertLessEqual(len(built), made, f"{words}: {' '.join(built)}")

    def test_generated_data(self):
        for words, (messages, made) in GENERATED.items():
            with self.subTest(words):
                self.assert_few(words, messages, made)

    def write_inputs(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            for name in "ABC":
                file[name] = numpy.ones((40, 40))
            file["key"] = numpy.arange(100.0)

    def test_data_from_files(self):
        self.write_inputs()
        for words, (messages, made) in FROM_FILES.items():
            with self.subTest(words):
                self.assert_few(words, messages, made)

    def test_inputs_are_told_of_all_together(self):
        """Three inputs need no more messages than one."""
        self.write_inputs()
        two = len(self.calls_of("matmul", "--a", "in.h5:/A", "--b", "in.h5:/B")[0])
        three = len(self.calls_of("matmul", "--a", "in.h5:/A", "--b", "in.h5:/B", "--c", "in.h5:/C",
                                  "--beta", 1)[0])
        # plus reading each, and checking for missing values
        self.assertLessEqual(two, 6 + 4 + MORE)
        self.assertLessEqual(three, two + 4)  # C is read, and used by the check
        field = ("stencil", "--in", "in.h5:/A", "--steps", 2)
        plain = len(self.calls_of(*field)[0])
        terms = len(self.calls_of(*field, "--coefficients", "in.h5:/B", "--source", "in.h5:/C")[0])
        self.assertLessEqual(terms, plain)


if __name__ == "__main__":
    tessera.main()
