"""The examining program: where it is found, how it is built, and its limits."""

import os
import resource
import shutil
import subprocess
import unittest
import zlib

import tessera
from tessera import BAD_DATA, INTERNAL, IO, MEMORY, h5py, numpy

EXAMINER = os.path.join(os.path.dirname(tessera.PROGRAM), "tessera-examine")
QUICK = ("--repetitions", 1, "--warmups", 0)


class Place(tessera.Case):
    """Found next to the running program, else in the PATH."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        self.program = shutil.copy(tessera.PROGRAM, self.path("bin"))
        tessera.write_matrix(self.path("a.h5"), numpy.eye(5))
        self.words = ("transpose", "--in", "a.h5:/A", *QUICK)

    def test_missing(self):
        self.fail_with(INTERNAL, *self.words, program=self.program,
                       words=("tessera-examine", "PATH"))

    def test_in_the_path(self):
        path = f"{os.path.dirname(EXAMINER)}:{os.environ['PATH']}"
        self.succeed(*self.words, program=self.program, environment={"PATH": path})

    def test_that_does_not_start(self):
        with open(self.path("bin/tessera-examine"), "w") as file:
            file.write("#!/bin/sh\nexit 127\n")  # as the loader does
        os.chmod(self.path("bin/tessera-examine"), 0o755)
        self.fail_with(INTERNAL, *self.words, program=self.program,
                       words=("tessera-examine", "does not start"))


class Parts(tessera.Case):
    @unittest.skipUnless(shutil.which("readelf"), "needs readelf")
    def test_it_needs_nothing_that_counts_cores_or_devices(self):
        told = subprocess.run(["readelf", "-d", EXAMINER], capture_output=True, text=True,
                              check=True).stdout
        needed = [line.split("[")[1].rstrip("]") for line in told.splitlines()
                  if "(NEEDED)" in line]
        self.assertTrue(any("hdf5" in name for name in needed), needed)
        for name in needed:
            for word in ("blas", "cuda", "cublas", "nccl", "gomp", "libmpi", "hwloc"):
                self.assertNotIn(word, name)


class Stopped(tessera.Case):
    """Ends of an examination that do not prove damage."""

    @unittest.skipIf(tessera.SANITIZED, "sanitizers need all the address space there is")
    def test_a_limit_of_the_address_space(self):
        """The library cannot allocate a chunk."""
        with h5py.File(self.path("a.h5"), "w") as file:
            file.create_dataset("A", data=numpy.zeros((2, 2**25), "f4"), chunks=(2, 2**25),
                                compression=1)
        limit = 200 << 20
        done = subprocess.run([EXAMINER, "dataset", "a.h5", "/A"], cwd=self.folder,
                              capture_output=True, text=True, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                                    (limit, limit)))
        self.assertEqual(done.returncode, MEMORY, done)
        for word in ("'a.h5'", "could not be examined", "200 MiB", "ulimit -v"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("damaged", done.stdout)

    def test_signals(self):
        """Signals to the examiner: only those of a crash mean a damaged file."""
        os.mkdir(self.path("bin"))
        program = shutil.copy(tessera.PROGRAM, self.path("bin"))
        tessera.write_matrix(self.path("a.h5"), numpy.eye(5))
        for name, code, word in (("KILL", MEMORY, "memory"), ("XCPU", MEMORY, "ulimit -t"),
                                 ("TERM", IO, "Terminated"),
                                 ("SEGV", BAD_DATA, "damaged"), ("ABRT", BAD_DATA, "damaged")):
            with self.subTest(name):
                with open(self.path("bin/tessera-examine"), "w") as file:
                    file.write(f"#!/bin/sh\nulimit -c 0\nkill -{name} $$\n")
                os.chmod(self.path("bin/tessera-examine"), 0o755)
                result = self.fail_with(code, "transpose", "--in", "a.h5:/A", *QUICK,
                                        program=program, words=("a.h5", word))
                self.assertEqual("could not be examined" in result.errors[0], word != "damaged",
                                 str(result))


class Large(tessera.Case):
    """Chunks that take longer to decode than the time limit for damaged files."""

    @unittest.skipUnless(tessera.SLOW, "takes some minutes")
    def test_a_chunk_of_almost_2_gib(self):
        rows, columns = 510, 10**6
        with h5py.File(self.path("a.h5"), "w") as file:
            a = file.create_dataset("A", (rows, columns), "f4", chunks=(rows, columns),
                                    compression=1)
            a[:] = numpy.random.default_rng(1).integers(0, 999, (rows, columns), "i2").astype("f4")
        self.succeed("transpose", "--in", "a.h5:/A[0:2,0:3]", *QUICK)

    @unittest.skipUnless(tessera.SLOW, "takes some minutes")
    def test_many_columns_of_large_chunks(self):
        rows = 5 * 10**6
        values = numpy.random.default_rng(1).integers(0, 999, rows).astype("f8")
        stored = zlib.compress(values.tobytes(), 1)
        with h5py.File(self.path("t.h5"), "w") as file:
            for c in range(56):
                column = file.create_dataset(f"T/c{c:02}", (rows,), "f8", chunks=(rows,),
                                             compression=1)
                column.id.write_direct_chunk((0,), stored)
        self.succeed("sort", "--in", "t.h5:/T", "--by", "c00", "--plan")


if __name__ == "__main__":
    tessera.main()
