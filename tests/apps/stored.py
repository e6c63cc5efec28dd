"""Outputs in chunks and compressed (--compress, --chunks, --like): all workloads, in memory and out
of core, on several ranks, read by h5py and by HDF5's own tools."""

import os
import shutil
import subprocess

import tessera
from tessera import USAGE, h5py, numpy

RNG = numpy.random.default_rng(tessera.SEED)
FIELD = numpy.round(RNG.standard_normal((23, 38, 27)), 1)
MATRIX = numpy.round(RNG.standard_normal((70, 61)), 1)


class Stored(tessera.Case):
    def setUp(self):
        super().setUp()
        with h5py.File(self.path("i.h5"), "w") as file:
            file.create_dataset("A", data=FIELD, chunks=(8, 9, 10), compression="gzip",
                                compression_opts=2, shuffle=True)
            file.create_dataset("M", data=MATRIX, chunks=(16, 32), fletcher32=True)
            file["plain"] = MATRIX
            file["T/key"] = RNG.integers(0, 50, 5000)
            file["T/name"] = RNG.integers(0, 10**6, 5000).astype("S7")
            file["T/pos"] = RNG.standard_normal((5000, 3)).astype("f4")

    def stored(self, name, **wanted):
        """Returns the values of a dataset; expects its storage, and that it matches its checksum.
        """
        file, path = name.split(":")
        self.succeed("verify", file)
        with h5py.File(self.path(file)) as h5:
            for key, value in wanted.items():
                self.assertEqual(getattr(h5[path], key), value, f"{key} of {name}")
            return h5[path][...]

    def test_filters_and_chunks_of_a_permutation(self):
        for ranks in (0, 3, 4):
            for words, wanted in (
                    (("--compress", "gzip:3"),
                     {"compression": "gzip", "compression_opts": 3, "chunks": (27, 23, 38)}),
                    (("--compress", "shuffle,gzip,fletcher32", "--chunks", "7x8x9"),
                     {"compression_opts": 4, "shuffle": True, "fletcher32": True,
                      "chunks": (7, 8, 9)}),
                    (("--chunks", "5"), {"compression": None, "chunks": (5, 23, 38)}),
                    (("--like", "input"),
                     {"compression_opts": 2, "shuffle": True, "chunks": (10, 8, 9)}),
                    (("--like", "i.h5:/A", "--compress", "none"),
                     {"compression": None, "shuffle": False, "chunks": (8, 9, 10)}),
                    ((), {"chunks": None})):
                with self.subTest(words=words, ranks=ranks):
                    self.succeed("transpose", "--in", "i.h5:/A", "--axes", "2,0,1", "--out",
                                 "o.h5:/T", "--overwrite", *words, ranks=ranks)
                    found = self.stored("o.h5:/T", **wanted)
                    numpy.testing.assert_array_equal(found, FIELD.transpose(2, 0, 1))
                    self.assertEqual(sorted(os.listdir(self.folder)), ["i.h5", "o.h5"])

    def test_products_fields_and_tables(self):
        for ranks in (0, 3):
            how = {"ranks": ranks}
            self.succeed("matmul", "--a", "i.h5:/M", "--b", "i.h5:/M", "--trans-b", "T", "--out",
                         "c.h5:/C", "--overwrite", "--like", "input", **how)
            numpy.testing.assert_allclose(
                self.stored("c.h5:/C", chunks=(16, 32), fletcher32=True), MATRIX @ MATRIX.T,
                atol=1e-10)
            self.succeed("stencil", "--in", "i.h5:/A", "--steps", "4", "--out", "u.h5:/u",
                         "--every", "2", "--snapshots", "s.h5:/u", "--overwrite",
                         "--like", "input", **how)
            last = self.stored("u.h5:/u", chunks=(8, 9, 10), compression_opts=2)
            steps = self.stored("s.h5:/u", chunks=(1, 8, 9, 10), shuffle=True)
            numpy.testing.assert_array_equal(steps[-1], last)
            self.succeed("sort", "--in", "i.h5:/T", "--by", "key", "--out", "t.h5:/T",
                         "--overwrite", "--compress", "shuffle,gzip:1", "--chunks", "512", **how)
            with h5py.File(self.path("i.h5")) as file:
                order = numpy.argsort(file["T/key"][...], kind="stable")
                for name, chunk in (("key", (512,)), ("name", (512,)), ("pos", (512, 3))):
                    found = self.stored(f"t.h5:/T/{name}", chunks=chunk, compression_opts=1)
                    numpy.testing.assert_array_equal(found, file[f"T/{name}"][...][order])

    def test_out_of_core(self):
        for ranks in (0, 3):
            few = ("--out-of-core", "always", "--memory", "64KiB", "--overwrite", "--compress",
                   "gzip:1", "--chunks", "13x11")
            self.succeed("transpose", "--in", "i.h5:/M", "--out", "o.h5:/T", *few, ranks=ranks)
            numpy.testing.assert_array_equal(self.stored("o.h5:/T", chunks=(13, 11)), MATRIX.T)

    def test_products_and_sorts_out_of_core_equal_those_that_are_not_compressed(self):
        """Also with chunks that are no tiles, and of the input's storage."""
        with h5py.File(self.path("i.h5"), "a") as file:
            file["keys"] = RNG.integers(0, 10**9, 40000)
            file["P"] = numpy.round(RNG.standard_normal((150, 130)), 1)
            file.create_dataset("Q", data=numpy.round(RNG.standard_normal((130, 90)), 1),
                                chunks=(7, 90), compression="gzip")
        product = ("matmul", "--a", "i.h5:/P", "--b", "i.h5:/Q", "--memory", "1MiB")
        keys = ("sort", "--in", "i.h5:/keys", "--memory", "256KiB")
        rows = ("sort", "--in", "i.h5:/T", "--by", "key", "--memory", "256KiB")
        jobs = ((product, "--out", "C", ("--chunks", "13"), {"C": (13, 90)}),
                (product, "--out", "C", ("--chunks", "11x17"), {"C": (11, 17)}),
                (product, "--out", "C", ("--like", "i.h5:/Q"), {"C": (7, 90)}),
                (keys, "--out", "k", ("--chunks", "777"), {"k": (777,)}),
                (keys, "--argsort", "k", (), {"k": (40000,)}),
                (rows, "--out", "T", ("--chunks", "100"),
                 {"T/key": (100,), "T/name": (100,), "T/pos": (100, 3)}))
        always = ("--out-of-core", "always", "--overwrite")
        for ranks in (0, 3):
            for words, option, path, chunks, wanted in jobs:
                with self.subTest(words=words, option=option, chunks=chunks, ranks=ranks):
                    self.succeed(*words, *always, option, f"plain.h5:/{path}", ranks=ranks)
                    self.succeed(*words, *always, option, f"o.h5:/{path}", "--compress",
                                 "shuffle,gzip:1", *chunks, ranks=ranks)
                    with h5py.File(self.path("plain.h5")) as file:
                        for name, chunk in wanted.items():
                            found = self.stored(f"o.h5:/{name}", chunks=chunk, compression="gzip",
                                                compression_opts=1, shuffle=True)
                            numpy.testing.assert_array_equal(found, file[name][...])
                            self.assertIsNone(file[name].chunks)
                    self.assertEqual(sorted(os.listdir(self.folder)), ["i.h5", "o.h5", "plain.h5"])

    def test_columns_to_which_filters_do_not_apply_are_noted(self):
        """HDF5's filters would compress the addresses of strings only."""
        words = numpy.array([f"w{number}" for number in range(5000)], dtype=object)
        with h5py.File(self.path("i.h5"), "a") as file:
            file.create_dataset("T/word", data=words, dtype=h5py.string_dtype())
        for ranks in (0, 2):
            result = self.succeed("sort", "--in", "i.h5:/T", "--by", "key", "--out", "o.h5:/T",
                                  "--overwrite", "--compress", "gzip", ranks=ranks)
            self.assertEqual(result.err.count("note: not compressed: o.h5:/T/word (elements of"),
                             1, result.err)
            with h5py.File(self.path("i.h5")) as file:
                order = numpy.argsort(file["T/key"][...], kind="stable")
            self.assertEqual(self.stored("o.h5:/T/word", chunks=None).tolist(),
                             [word.encode() for word in words[order]])
            self.stored("o.h5:/T/key", compression="gzip")
        plain = self.succeed("sort", "--in", "i.h5:/T", "--by", "key", "--out", "o.h5:/T",
                             "--overwrite")
        self.assertNotIn("not compressed", plain.err)

    def test_a_dataset_is_added_to_a_foreign_file(self):
        self.succeed("transpose", "--in", "i.h5:/M", "--out", "o.h5:/T")
        shutil.copy(self.path("i.h5"), self.path("mine.h5"))
        for more in ((), ("--overwrite",)):
            self.succeed("transpose", "--in", "o.h5:/T", "--out", "mine.h5:/new", *more,
                         "--compress", "gzip", ranks=2)
            with h5py.File(self.path("mine.h5")) as file:
                numpy.testing.assert_array_equal(file["new"][...], MATRIX)
                numpy.testing.assert_array_equal(file["A"][...], FIELD)
                self.assertEqual(file["new"].compression, "gzip")

    def test_a_stopped_run_is_resumed(self):
        words = ["transpose", "--memory", "8MiB", "--out-of-core", "always", "--out", "t.h5:/T",
                 "--resume", "auto", "--compress", "gzip:1", "--overwrite"]
        for n in (3000, 6000):  # a fast machine may finish before the signal arrives
            again = [*words, "--n", n, "--m", n // 2]
            job = tessera.Job(again, ranks=3, folder=self.folder)
            result = job.stop(self.has_begun_to_write(job))
            if result.code == tessera.OK:
                os.remove(self.path("t.h5"))
                continue
            self.assert_failed(result, tessera.STOPPED)
            self.assertEqual(sorted(name for name in os.listdir(self.folder) if "t.h5" in name),
                             [".t.h5.stopped", ".t.h5.stopped.elements"])
            last = self.succeed(*again, ranks=2, timeout=300)
            self.assertIn("resumed", last.out)
            self.assertEqual(sorted(name for name in os.listdir(self.folder) if "t.h5" in name),
                             ["t.h5"])
            found = self.stored("t.h5:/T", compression_opts=1)
            self.succeed("transpose", "--n", n, "--m", n // 2, "--out", "p.h5:/T")
            numpy.testing.assert_array_equal(found, self.stored("p.h5:/T", chunks=None))
            return

    def test_tools_of_hdf5_read_it(self):
        self.succeed("transpose", "--in", "i.h5:/M", "--out", "o.h5:/T", "--compress",
                     "shuffle,gzip:9,fletcher32", "--chunks", "16x16")
        for command in (["h5dump", "-d", "/T", "-o", "dumped", "o.h5"],
                        ["h5repack", "-f", "GZIP=1", "o.h5", "packed.h5"]):
            if not shutil.which(command[0]):
                print(f"  skipped: {command[0]} is not installed", flush=True)
                continue
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        if os.path.exists(self.path("packed.h5")):
            numpy.testing.assert_array_equal(self.stored("packed.h5:/T"), MATRIX.T)

    def test_what_is_refused(self):
        base = ("transpose", "--in", "i.h5:/plain", "--out", "o.h5:/T")
        for words, told in ((("--compress", "zstd"), ("zstd", "gzip:LEVEL")),
                            (("--compress", "gzip:10"), "gzip:10"),
                            (("--compress", "gzip,gzip"), "twice"),
                            (("--chunks", "0x4"), "0x4"),
                            (("--chunks", "4x4x4"), ("3 dimensions", "has 2")),
                            (("--like", "i.h5:/A"), ("3 dimensions", "has 2"))):
            with self.subTest(words=words):
                self.fail_with(USAGE, *base, *words, words=told)
        self.fail_with(USAGE, "transpose", "--in", "i.h5:/plain", "--compress", "gzip",
                       words=("--compress", "--out"))
        self.assertEqual(os.listdir(self.folder), ["i.h5"])


if __name__ == "__main__":
    tessera.main()
