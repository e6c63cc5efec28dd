"""tessera sort: locations of tables in files, combinations of outputs, and remains of failed
attempts."""

import fcntl
import os

import tessera
from tessera import h5py, numpy

OUT_OF_CORE = ("--out-of-core", "always", "--memory", "64KiB")


class Root(tessera.Case):
    """Columns in the root group of a file."""

    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.columns = {"time": rng.integers(0, 100, 3001), "energy": rng.normal(size=3001),
                        "name": rng.integers(0, 99, 3001).astype("S4")}
        self.order = numpy.argsort(self.columns["time"], kind="stable")
        with h5py.File(self.path("t.h5"), "w") as file:
            file.attrs["title"] = "of the file"
            file.create_group("other")["x"] = [1, 2]
            for name, values in self.columns.items():
                file[name] = values

    def check(self, out, folder):
        with h5py.File(self.path(out)) as file:
            for name, values in self.columns.items():
                self.assertEqual(file[folder][name][()].tobytes(), values[self.order].tobytes(),
                                 name)
            self.assertEqual(file[folder].attrs["title"], "of the file")
        self.succeed("verify", out)

    def test_is_sorted_into_a_group_or_a_root(self):
        for way in ((), OUT_OF_CORE):
            for ranks in (1, 2, 3, 5):
                for folder in ("/", "/s"):
                    self.succeed("sort", "--in", "t.h5:/", "--by", "time", "--out",
                                 f"s.h5:{folder}", "--argsort", "p.h5:/p", "--overwrite",
                                 *way, ranks=ranks)
                    self.check("s.h5", folder)
            self.succeed("sort", "--in", "t.h5:/", "--apply", "p.h5:/p", "--out", "s.h5:/",
                         "--overwrite", *way, ranks=2)
            self.check("s.h5", "/")
        with h5py.File(self.path("t.h5"), "r+") as file:
            file["gone"] = h5py.SoftLink("/nowhere")
        said = self.succeed("sort", "--in", "t.h5:/", "--by", "time", "--out", "s.h5:/",
                            "--overwrite", ranks=2).err
        self.assertEqual(said.count("t.h5:/ is sorted without gone, other, which are no datasets"),
                         1, said)
        # Tessera's output, too
        said = self.succeed("sort", "--in", "s.h5:/", "--by=-time", "--unique", "--out",
                            "u.h5:/").err
        self.assertNotIn("without", said)
        with h5py.File(self.path("u.h5")) as file:
            numpy.testing.assert_array_equal(file["time"], numpy.unique(self.columns["time"])[::-1])

    def test_names_may_hold_commas(self):
        with h5py.File(self.path("c.h5"), "w") as file:
            for name, column in (("time, s", "time"), ("a,b,c", "energy"), ("name", "name")):
                file[name] = self.columns[column]
        order = numpy.lexsort((-self.columns["energy"], self.columns["name"], self.columns["time"]))
        self.succeed("sort", "--in", "c.h5:/", "--by", "time, s,name[0:4],-a,b,c", "--argsort",
                     "p.h5:/p")
        self.assertEqual(tessera.read_matrix(self.path("p.h5"), "p").tolist(), order.tolist())
        with h5py.File(self.path("c.h5"), "r+") as file:
            file["-z"] = self.columns["time"]  # names may begin with a sign
        for by, keys in (("-z", self.columns["time"]), ("--z", -self.columns["time"]),
                         ("-name,--z", -self.columns["time"])):
            keys = [keys, -numpy.unique(self.columns["name"],
                                        return_inverse=True)[1]][:by.count(",") + 1]
            self.succeed("sort", "--in", "c.h5:/", f"--by={by}", "--argsort", "p.h5:/p",
                         "--overwrite")
            self.assertEqual(tessera.read_matrix(self.path("p.h5"), "p").tolist(),
                             numpy.lexsort(keys).tolist(), by)
        with h5py.File(self.path("c.h5"), "r+") as file:
            file["a"] = self.columns["time"]  # a column named by the whole word takes precedence
        self.fail_with(tessera.USAGE, "sort", "--in", "c.h5:/", "--by", "a,b,c",
                       words="no column 'b'")

    def test_what_is_no_table_has_no_place_there(self):
        for words in (("--in", "t.h5:/time"), ("--in", "t.h5:/time", "--argsort", "p.h5:/p"),
                      ("--n", 9),
                      ("--in", "t.h5:/", "--by", "time", "--quantiles", 0.5)):
            self.fail_with(tessera.USAGE, "sort", *words, "--out", "s.h5:/",
                           words=("'s.h5:/'", "root"))
        self.fail_with(tessera.USAGE, "sort", "--in", "t.h5:/", "--by", "time", "--argsort",
                       "s.h5:/", words="--argsort")
        self.fail_with(tessera.USAGE, "transpose", "--in", "t.h5:/", words="--in")


class Places(tessera.Case):
    """Combinations of outputs, refused before anything is computed."""

    def setUp(self):
        super().setUp()
        with h5py.File(self.path("in.h5"), "w") as file:
            file["k"] = numpy.arange(50)[::-1]
            file["table/a"] = numpy.arange(50) % 7
            file["table/_tessera"] = numpy.arange(50)

    def test_below_one_another_or_the_same(self):
        keys, table = ("--in", "in.h5:/k"), ("--in", "in.h5:/table", "--by", "a")
        before = tessera.snapshot(self.folder)
        for request, out, order, words in ((keys, "s.h5:/a", "s.h5:/a/b", "below"),
                                           (keys, "s.h5:/a/b", "s.h5:/a", "below"),
                                           (keys, "s.h5:/a", "./s.h5:/a/b", "below"),
                                           (table, "s.h5:/p/t", "s.h5:/p", "below"),
                                           (table, "s.h5:/t", "s.h5:/t/a", "two outputs"),
                                           (table, "s.h5:/t", "s.h5:/t/a/p", "below"),
                                           (keys, "s.h5:/a", f"{self.folder}/s.h5:/a",
                                            "two outputs"), (table, "s.h5:/", "p.h5:/p",
                                                             "_tessera")):
            for more in ((), ("--unique",), OUT_OF_CORE, ("--unique", *OUT_OF_CORE)):
                for ranks in (0, 2):
                    with self.subTest((out, order, more, ranks)):
                        result = self.fail_with(tessera.USAGE, "sort", *request, "--out", out,
                                                "--argsort", order, *more, ranks=ranks, words=words)
                        self.assertNotIn("H5", result.err)
                        self.assertNotIn("unable", result.err)
                        self.assertEqual(tessera.snapshot(self.folder), before)

    def test_beside_one_another_in_a_file_by_two_names(self):
        for order in ("s.h5:/p", "./s.h5:/t/p"):
            self.succeed("sort", "--in", "in.h5:/table", "--by", "a", "--out", "s.h5:/t",
                         "--argsort", order, "--overwrite")
            with h5py.File(self.path("s.h5")) as file:
                self.assertEqual((len(file["t/a"]), len(file[order.split(":/")[1]])), (50, 50))
            self.succeed("verify", "s.h5")


class Runs(tessera.Case):
    """A failed attempt out of core leaves only what the next one can resume from."""

    def setUp(self):
        super().setUp()
        with h5py.File(self.path("in.h5"), "w") as file:
            file["everywhere"] = numpy.full(30000, -1)
            file["late"] = numpy.where(numpy.arange(30000) == 29990, -1, numpy.arange(30000))

    def test_an_empty_folder_does_not_stay(self):
        for ranks in (0, 2, 3):
            self.fail_with(tessera.BAD_DATA, "sort", "--in", "in.h5:/everywhere", "--type", "u32",
                           "--out", "s.h5:/k", *OUT_OF_CORE, ranks=ranks,
                           words="cannot represent")
            self.assertEqual(os.listdir(self.folder), ["in.h5"])
        os.makedirs(self.path("runs/s.h5.runs"))
        for name in ("notes.txt", ""):
            if name:
                open(self.path(f"runs/s.h5.runs/{name}"), "w").close()
            self.fail_with(tessera.BAD_DATA, "sort", "--in", "in.h5:/everywhere", "--type", "u32",
                           "--out", "s.h5:/k", "--scratch", "runs", *OUT_OF_CORE)
            if name:
                os.unlink(self.path(f"runs/s.h5.runs/{name}"))
        self.assertEqual(os.listdir(self.path("runs")), [])

    def test_finished_runs_stay(self):
        for ranks in (0, 2, 3):
            self.fail_with(tessera.BAD_DATA, "sort", "--in", "in.h5:/late", "--type", "u32",
                           "--out", "s.h5:/k", *OUT_OF_CORE, ranks=ranks)
            runs = os.listdir(self.path("s.h5.runs"))
            self.assertGreater(len(runs), 0)
            self.assertTrue(all(name[0] != "." for name in runs), runs)
        self.assertEqual(sorted(os.listdir(self.folder)), ["in.h5", "s.h5.runs"])

    def test_resume_goes_on_with_them_without_results(self):
        with h5py.File(self.path("in.h5"), "r+") as file:
            file["k"] = numpy.arange(30000)[::-1]
        for words, want in ((("--in", "in.h5:/k", "--out", "s.h5:/k"), numpy.arange(30000)),
                            (("--in", "in.h5:/k", "--argsort", "s.h5:/k"),
                             numpy.arange(30000)[::-1]),
                            (("--n", 30000, "--out", "s.h5:/k"), None)):
            request = ("sort", *words, *OUT_OF_CORE, "--overwrite", "--resume", "auto")
            os.makedirs(self.path("s.h5.runs/000003.h5/x"))  # blocks the file of a run
            self.fail_with(tessera.CANNOT_CREATE, *request, words="000003")
            os.rmdir(self.path("s.h5.runs/000003.h5/x"))
            os.rmdir(self.path("s.h5.runs/000003.h5"))
            self.assertIn("resumed: 3 of", self.succeed(*request).out)
            got = tessera.read_matrix(self.path("s.h5"), "k")
            numpy.testing.assert_array_equal(got, numpy.sort(got) if want is None else want)
        for words in ((), ("--out", "s.h5:/k", "--out-of-core", "never"),
                      ("--quantiles", 0.5, "--out", "q.h5:/q")):
            self.fail_with(tessera.USAGE, "sort", "--in", "in.h5:/k", *words, "--resume", "auto",
                           words=("--results", "--out"))

    def test_the_folder_of_another_sort_is_not_touched(self):
        os.makedirs(self.path("s.h5.runs"))
        folder = os.open(self.path("s.h5.runs"), os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        self.fail_with(tessera.CANNOT_CREATE, "sort", "--in", "in.h5:/everywhere", "--out",
                       "s.h5:/k", *OUT_OF_CORE, words="another sort")
        self.assertTrue(os.path.exists(self.path("s.h5.runs")))
        os.close(folder)


class Names(tessera.Case):
    def test_a_column_of_the_very_name_goes_before_bytes_of_another(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["t/b"] = numpy.array([b"b", b"a", b"c"])
            file["t/b[0:1]"] = [1, 3, 2]
        for key, order in (("b[0:1]", [0, 2, 1]), ("-b[0:1]", [1, 2, 0]), ("b", [1, 0, 2])):
            self.succeed("sort", "--in", "in.h5:/t", f"--by={key}", "--argsort", "p.h5:/p",
                         "--overwrite")
            with h5py.File(self.path("p.h5")) as file:
                self.assertEqual(file["p"][:].tolist(), order, key)


class Nothing(tessera.Case):
    def test_a_null_dataspace_is_called_so(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["null"] = h5py.Empty("f8")
            file["scalar"] = 1.5
            file["table/a"] = numpy.arange(3)
            file["table/null"] = h5py.Empty("f8")
        for words in (("sort", "--in", "in.h5:/null"),
                      ("matmul", "--a", "in.h5:/null", "--b", "in.h5:/null"),
                      ("transpose", "--in", "in.h5:/null"),
                      ("stencil", "--in", "in.h5:/null", "--steps", 1)):
            result = self.fail_with(tessera.BAD_DATA, *words, words=("null", "null dataspace"))
            self.assertNotIn("scalar", result.errors[0])
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "in.h5:/scalar", words="is a scalar")
        said = self.succeed("sort", "--in", "in.h5:/table", "--by", "a", "--out", "s.h5:/t").err
        self.assertIn("is sorted without null, which is no dataset with elements", said)
        self.fail_with(tessera.USAGE, "sort", "--in", "in.h5:/table", "--by", "null", words="null")


if __name__ == "__main__":
    tessera.main()
