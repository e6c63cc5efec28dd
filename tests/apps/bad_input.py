"""What a wrong request gets: one line that names the thing, the documented exit code, in no time, nothing written.

Every case runs alone, and on 3 ranks (nobody hangs) the first of its kind, or all in the complete set, within 3 s
stretched by how slow the machine is now.
"""

import os
import pwd
import random
import shutil
import stat
import unittest

import tessera
from tessera import BAD_DATA, CANNOT_CREATE, MEMORY, MISSING, OK, USAGE, h5py, numpy

PROMISED_SECONDS = 3


class BadInput(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.a = tessera.write_matrix(self.path("a.h5"), rng.normal(size=(30, 20)), name="A")
        self.b = tessera.write_matrix(self.path("b.h5"), rng.normal(size=(20, 25)), name="B")
        self.first = True  # of this test's cases

    def refuse(self, code, *arguments, words=(), ranks=None, **how):
        """Refused alone and on 3 ranks, at once, with nothing written."""
        if ranks is None:
            ranks = (0, 3) if self.first or tessera.SLOW else (0,)
            self.first = False
        before = tessera.snapshot(self.folder)
        jobs = [tessera.Job(arguments, ranks=n, folder=self.folder, **how) for n in ranks]
        for result in [job.wait(timeout=30) for job in jobs]:
            self.assert_failed(result, code, words)
            self.assertLess(result.seconds, tessera.slack(PROMISED_SECONDS), str(result))
            for noise in ("HDF5-DIAG", "terminate called", "what():", "Backtrace", "signal"):
                self.assertNotIn(noise, result.out + result.err, str(result))
            self.assertEqual(result.out, "", str(result))
            self.assertEqual(tessera.snapshot(self.folder), before, f"something was written\n{result}")

    def refuse_product(self, code, *more, a=None, b=None, out="c.h5:/C", words=(), **how):
        self.refuse(code, "matmul", "--a", a or self.a, "--b", b or self.b, "--out", out, *more, words=words, **how)


class Files(BadInput):
    def test_missing_file(self):
        self.refuse_product(MISSING, a="nothere.h5:/A", words=("'nothere.h5'", "No such file"))
        self.refuse_product(MISSING, b="nothere.h5:/B", words="'nothere.h5'")
        self.refuse_product(MISSING, a=self.path("no/such/folder/a.h5") + ":/A", words="no/such/folder/a.h5")

    def test_directory(self):
        os.mkdir(self.path("folder"))
        self.refuse_product(MISSING, a="folder:/A", words=("'folder'", "directory"))

    def test_broken_link(self):
        os.symlink("gone.h5", self.path("link.h5"))
        self.refuse_product(MISSING, a="link.h5:/A", words="'link.h5'")

    def test_not_hdf5(self):
        for name, content in {"text.h5": b"not a matrix\n" * 200, "empty.h5": b"", "zeros.h5": bytes(5000)}.items():
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.refuse_product(BAD_DATA, a=f"{name}:/A", words=(f"'{name}'", "HDF5"))

    def test_special_file(self):
        self.refuse_product(BAD_DATA, a="/dev/null:/A", words="'/dev/null'", ranks=(0,))
        os.mkfifo(self.path("pipe"))
        self.refuse_product(BAD_DATA, a="pipe:/A", words="'pipe'", ranks=(0,))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv to be somebody else")
    def test_unreadable_file(self):
        """As a user who may not read the file."""
        nobody = pwd.getpwnam("nobody")
        os.chmod(self.folder, 0o777)
        os.chmod(self.path("a.h5"), 0)
        if not self.reachable_by(nobody, tessera.PROGRAM):
            self.skipTest("the program lies where others may not go")
        words = ("--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups", tessera.PROGRAM)
        result = self.fail_with(MISSING, *words, "matmul", "--a", self.a, "--b", self.b, program="setpriv",
                                words=("a.h5", "Permission denied"))
        self.assertLess(result.seconds, tessera.slack(PROMISED_SECONDS))
        os.chmod(self.path("a.h5"), 0o644)
        os.chmod(self.folder, 0o755)
        for named, more in (("c.h5", ()), ("r.h5", ("--results", "r.h5"))):
            self.fail_with(CANNOT_CREATE, *words, "matmul", "--a", self.a, "--b", self.b, "--out", "c.h5:/C", *more,
                           program="setpriv", words=(named, "ermission denied"))

    def reachable_by(self, user, path):
        while path != "/":
            path = os.path.dirname(path)
            if not os.stat(path).st_mode & stat.S_IXOTH and os.stat(path).st_uid != user.pw_uid:
                return False
        return True

    def test_truncated_hdf5(self):
        """Cut at every kind of place: refused as damaged, never a crash, never a product."""
        for storage in ("contiguous", "gzip", "userblock"):
            tessera.write_matrix(self.path("whole.h5"), numpy.ones((30, 20)), storage)
            with open(self.path("whole.h5"), "rb") as file:
                whole = file.read()
            cuts = {1, 7, 8, 9, 95, 96, 97, 511, 512, 600, len(whole) // 2, len(whole) - 8, len(whole) - 1}
            for cut in sorted(cuts):
                with open(self.path("cut.h5"), "wb") as file:
                    file.write(whole[:cut])
                self.refuse_product(BAD_DATA, a="cut.h5:/A", words="'cut.h5'",
                                    ranks=(0, 3) if cut == len(whole) // 2 else (0,))

    def test_numbers_beyond_the_type(self):
        """They would become infinite; infinities stay."""
        values = numpy.array([[1, -numpy.inf], [2, 3], [-1e300, 4]])
        with h5py.File(self.path("x.h5"), "w") as file:
            for kind, name in (("<f8", "little"), (">f8", "big"), ("<c16", "complex")):
                file[name] = values.astype(kind)
                file[name + "_key"] = values.ravel().astype(kind)
        for name in ("little", "big"):
            a, key = f"x.h5:/{name}", f"x.h5:/{name}_key"
            self.succeed("transpose", "--in", a + "[:2]", "--type", "f32", "--out", "t.h5:/T", "--overwrite")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"), values[:2].T)
            for command in (("matmul", "--a", a, "--b", a, "--trans-b", "T"), ("transpose", "--in", a, "--alpha", 2),
                            ("stencil", "--in", a), ("sort", "--in", key)):
                self.refuse(BAD_DATA, *command, "--type", "f32", words=(f"x.h5:/{name}", "f32 cannot hold"),
                            ranks=(2,) if command[0] == "matmul" else (0,))
        self.refuse(BAD_DATA, "matmul", "--a", "x.h5:/complex", "--b", "x.h5:/complex", "--trans-b", "T", "--type", "c64",
                    words="c64 cannot hold", ranks=(0,))

    def test_flipped_metadata(self):
        """Random bytes of the metadata changed: a product, or one line; never a crash or a hang."""
        rng = random.Random(tessera.SEED)
        tessera.write_matrix(self.path("whole.h5"), numpy.ones((30, 20)), "gzip")
        with open(self.path("whole.h5"), "rb") as file:
            whole = file.read()
        refused = 0
        for trial in range(400 if tessera.SLOW else 60):
            damaged = bytearray(whole)
            where = [rng.randrange(min(len(whole), 3000)) for _ in range(rng.choice([1, 1, 4, 40]))]
            for at in where:
                damaged[at] = rng.randrange(256)
            with open(self.path("flipped.h5"), "wb") as file:
                file.write(damaged)
            before = tessera.snapshot(self.folder)
            result = self.run_tessera("matmul", "--a", "flipped.h5:/A", "--b", self.b, "--out", "c.h5:/C",
                                      "--overwrite", "--repetitions", 1, timeout=40)
            told = f"trial {trial}, bytes {where}\n{result}"
            if result.code == OK:
                os.unlink(self.path("c.h5"))
                continue
            refused += 1
            self.assertIn(result.code, (BAD_DATA, MISSING, MEMORY), told)
            self.assertEqual(len(result.errors), 1, told)
            self.assertEqual(tessera.snapshot(self.folder), before, told)
        self.assertGreater(refused, 0)


class Datasets(BadInput):
    def test_missing_dataset(self):
        name = self.path("a.h5")
        self.refuse_product(MISSING, a=f"{name}:/AA", words=("'/AA'", "/A"))
        self.refuse_product(MISSING, a=f"{name}:/A/B", words="'/A/B'")
        self.refuse_product(MISSING, a=f"{name}:/no/such/A", words="'/no/such/A'")

    def test_group_instead_of_dataset(self):
        with h5py.File(self.path("g.h5"), "w") as file:
            file.create_group("G/H")
        self.refuse_product(MISSING, a="g.h5:/G", words=("'/G'", "is a group"))

    def test_a_dataset_that_cannot_be_opened_is_not_said_to_be_missing(self):
        """Its header is damaged, as one looks to a library that is too old for its form."""
        with h5py.File(self.path("d.h5"), "w", libver="latest") as file:
            file["A"] = numpy.ones((30, 20))
        with open(self.path("d.h5"), "r+b") as file:
            whole = file.read()
            file.seek(whole.rindex(b"OHDR") + 30)
            file.write(b"\xff")
        self.refuse_product(BAD_DATA, a="d.h5:/A", words=("'/A'", "cannot be opened", "libver"))

    def test_links_that_lead_nowhere(self):
        with h5py.File(self.path("l.h5"), "w") as file:
            file["soft"] = h5py.SoftLink("/nowhere")
            file["extern"] = h5py.ExternalLink("gone.h5", "/A")
            file["turn"] = h5py.SoftLink("/turn")
        for name in ("soft", "extern", "turn"):
            self.refuse_product(MISSING, a=f"l.h5:/{name}", words=(f"'/{name}'", "link"), ranks=(0,))

    def test_wrong_dimensions(self):
        for name, shape in {"point": (), "line": (20,), "block": (3, 20, 4), "more": (1, 1, 20, 1)}.items():
            with h5py.File(self.path("d.h5"), "w") as file:
                file[name] = numpy.ones(shape)
            self.refuse_product(BAD_DATA, a=f"d.h5:/{name}", words=(f"d.h5:/{name}", "2-D"),
                                ranks=(0, 3) if name == "line" else (0,))
        with h5py.File(self.path("d.h5"), "w") as file:
            file["null"] = h5py.Empty("f8")
        self.refuse_product(BAD_DATA, a="d.h5:/null", words="d.h5:/null")

    def test_wrong_elements(self):
        with h5py.File(self.path("e.h5"), "w") as file:
            file["compound"] = numpy.zeros((3, 20), dtype=[("x", "f8"), ("y", "i4")])
            file["fixed"] = numpy.full((3, 20), b"word")
            file["text"] = numpy.full((3, 20), "word", dtype=h5py.string_dtype())
            file["enum"] = numpy.zeros((3, 20), dtype=h5py.enum_dtype({"no": 0, "yes": 1}))
            file["opaque"] = numpy.zeros((3, 20), dtype="V7")
        for name in ("compound", "fixed", "text", "enum", "opaque"):
            self.refuse_product(BAD_DATA, a=f"e.h5:/{name}", words=(f"e.h5:/{name}", "real or integer numbers"),
                                ranks=(0, 3) if name == "text" else (0,))

    def test_inner_dimensions_differ(self):
        self.refuse_product(BAD_DATA, "--trans-a", "T", words=("inner dimensions", "20 x 30", "20 x 25"))
        self.refuse_product(BAD_DATA, b=self.a, words=("inner dimensions", "30 x 20"))

    def test_c_of_another_shape(self):
        c = tessera.write_matrix(self.path("old.h5"), numpy.ones((25, 30)), name="C")
        self.refuse_product(BAD_DATA, "--c", c, "--beta", 1, words=("old.h5:/C", "25 x 30", "30 x 25"))

    def test_missing_filter(self):
        """lzf, which h5py brings along and the library does not know."""
        with h5py.File(self.path("f.h5"), "w") as file:
            file.create_dataset("A", data=numpy.arange(600.0).reshape(30, 20), compression="lzf")
        self.refuse_product(BAD_DATA, a=self.path("f.h5") + ":/A", words=("f.h5:/A", "filter 'lzf' (number 32000)", "h5repack"))
        self.virtual("v.h5", "f.h5")
        self.refuse_product(BAD_DATA, a="v.h5:/A", words=("f.h5:/A, of which v.h5:/A is made,", "filter 'lzf'"))

    def virtual(self, name, source, **how):
        with h5py.File(self.path(name), "w") as file:
            layout = h5py.VirtualLayout((30, 20), "f8")
            layout[:] = h5py.VirtualSource(source, "A", (30, 20))
            file.create_virtual_dataset("A", layout, **how)

    def test_missing_source_of_a_virtual_dataset(self):
        os.mkdir(self.path("v"))
        self.virtual("v/v.h5", "a.h5")  # not in its folder, but in this one
        self.succeed("transpose", "--in", "v/v.h5:/A")
        self.virtual("v.h5", "gone.h5")
        self.refuse_product(MISSING, a="v.h5:/A", words=("v.h5:/A", "gone.h5:/A", "fill value"))
        self.virtual("v.h5", "b.h5")  # which has no A
        self.refuse_product(MISSING, a="v.h5:/A", words="b.h5:/A cannot be read")
        self.virtual("v.h5", "gone.h5", fillvalue=-1)
        self.succeed("transpose", "--in", "v.h5:/A")


class Outputs(BadInput):
    def test_output_exists(self):
        for content in (b"precious", b""):
            with open(self.path("c.h5"), "wb") as file:
                file.write(content)
            self.refuse_product(CANNOT_CREATE, words=("'c.h5'", "--overwrite"))

    def test_output_directory_is_missing(self):
        self.refuse_product(CANNOT_CREATE, out="no/where/c.h5:/C", words="no/where")

    def test_output_below_a_file(self):
        self.refuse_product(CANNOT_CREATE, out=self.path("a.h5") + "/c.h5:/C", words="a.h5")

    def test_output_is_a_directory(self):
        os.mkdir(self.path("folder"))
        self.refuse_product(CANNOT_CREATE, out="folder:/C", words="'folder'")
        self.refuse_product(CANNOT_CREATE, "--overwrite", out="folder:/C", words="'folder'")

    def test_names_as_long_as_there_are(self):
        name = "n" * 253 + ".h5"
        self.refuse_product(CANNOT_CREATE, out=name + ":/C", words="too long", ranks=(0,))
        self.refuse_product(CANNOT_CREATE, "--results", name, words="too long", ranks=(0,))
        self.succeed("matmul", "--n", 8, "--out", name[1:] + ":/C", "--results", "r" + name[2:])
        self.succeed("verify", name[1:])

    def test_output_is_a_dangling_link(self):
        os.symlink("elsewhere.h5", self.path("c.h5"))
        self.refuse_product(CANNOT_CREATE, words="'c.h5'")

    def test_output_in_an_input(self):
        """By the same name, another spelling, a symbolic link, a hard link, a link to the folder; even with
        --overwrite."""
        os.symlink("a.h5", self.path("soft.h5"))
        os.link(self.path("a.h5"), self.path("hard.h5"))
        os.symlink(".", self.path("here"))
        for name in (self.path("a.h5"), "./a.h5", "soft.h5", "hard.h5", "here/a.h5", "here/../" +
                     os.path.basename(self.folder) + "/b.h5"):
            self.refuse_product(USAGE, "--overwrite", out=f"{name}:/C", words=("--out", "input"),
                                ranks=(0, 3) if name == "soft.h5" else (0,))
        c = tessera.write_matrix(self.path("old.h5"), numpy.ones((30, 25)), name="C")
        self.refuse_product(USAGE, "--overwrite", "--c", c, "--beta", 1, out="old.h5:/C2", words=("--out", "--c"))

    def test_results_in_an_input_or_output(self):
        """Results are appended to their file: an input is not theirs, and an output would be replaced."""
        self.refuse_product(USAGE, "--results", "a.h5", words=("--results", "--a"))
        self.refuse_product(USAGE, "--results", "./c.h5", words=("--results", "--out"))

    def test_results_that_cannot_be_written_end_it_before_anything_is_computed(self):
        for words in (("matmul", "--n", 8, "--out", "c.h5:/C"), ("scalability", "forkjoin", "--n", 5), ("locality", "sort", "--n", 9)):
            self.refuse(CANNOT_CREATE, *words, "--results", "a.h5/deep/r.h5", words="a.h5/deep/r.h5",
                        ranks=(0, 3) if words[0] == "matmul" else (0,))

    def test_results_file_of_somebody_else(self):
        with open(self.path("r.h5"), "w") as file:
            file.write("notes\n")
        self.refuse(BAD_DATA, "matmul", "--n", 8, "--results", "r.h5", words="'r.h5'")

    def test_results_are_not_added_to_data(self):
        tessera.write_matrix(self.path("data.h5"), numpy.ones((3, 4)), name="mine")
        self.run_tessera("transpose", "--n", 8, "--out", "out.h5:/T")
        with h5py.File(self.path("later.h5"), "w") as file:
            file.attrs["tessera_schema"] = 1000
        for name, word in (("data.h5", "/mine"), ("out.h5", "/T"), ("later.h5", "1000")):
            self.refuse(BAD_DATA, "matmul", "--n", 8, "--results", name, words=(f"'{name}'", word, "another"))
            self.refuse(BAD_DATA, "locality", "sort", "--n", 9, "--results", name, words=(f"'{name}'", word))

    def test_reserved_names_in_the_output(self):
        for path in ("/_tessera", "/_tessera/C", "/row/C", "/col/a/b"):
            self.refuse_product(USAGE, out=f"c.h5:{path}", words=path, ranks=(0,))
        self.refuse_product(USAGE, out="c.h5:/C/", words="c.h5:/C/", ranks=(0,))
        self.refuse_product(USAGE, out="c.h5:/C[0:5]", words=("--out", "c.h5:/C[0:5]"), ranks=(0,))

    def test_output_of_generated_data_that_is_no_dataset(self):
        for words in (("matmul", "--n", 8), ("transpose", "--n", 8), ("sort", "--n", 8), ("stencil", "--shape", "8x8")):
            self.refuse(USAGE, *words, "--out", "c.h5", words=("--out", "'c.h5'"))
        self.refuse_product(USAGE, out="c.h5://", words="c.h5://", ranks=(0,))


class Options(BadInput):
    def test_unknown_command(self):
        self.refuse(USAGE, "matmull", words=("'matmull'", "'matmul'"))
        self.refuse(USAGE, "--matmul", words="--matmul")

    def test_unknown_option(self):
        self.refuse(USAGE, "matmul", "--kernal", "tiled", words=("--kernal", "'kernel'"))
        self.refuse(USAGE, "matmul", "--kernal=tiled", words=("--kernal", "'kernel'"))
        self.refuse(USAGE, "matmul", "-n", "5", words="-n")
        self.refuse(USAGE, "verify", "c.h5", "--n", "5", words="--n")

    def test_unexpected_word(self):
        self.refuse(USAGE, "matmul", "256", words="'256'")
        self.refuse(USAGE, "verify", "c.h5", "d.h5", words="d.h5")
        self.refuse(USAGE, "list", "matmul", words="'matmul'")

    def test_missing_value(self):
        self.refuse(USAGE, "matmul", "--n", words="--n")
        self.refuse(USAGE, "matmul", "--n", "", words="--n")
        self.refuse_product(USAGE, out="", words=("'--out'", "no value"))
        self.refuse(USAGE, "verify", words="verify")

    def test_bad_values(self):
        for option, value in {"n": "many", "m": "-1", "k": "1.5", "repetitions": "0", "warmups": "-1", "threads": "-2",
                              "alpha": "one", "beta": "1,2", "tile": "0", "panel": "0", "column-width": "0",
                              "memory": "lots", "stall-limit": "-1", "seed": "x", "n ": "1e30",
                              "threads ": "100000", "k ": "99999999999999999999", "n  ": "5,,6", "m ": "8:4",
                              "m  ": "1:9:x1", "k  ": "1:2:3:4", "grid": "2by3", "alpha ": "nan", "beta ": "inf", "alpha  ": "1e999", "m   ": "4:8:0"}.items():
            self.refuse(USAGE, "matmul", f"--{option.strip()}={value}", words=f"--{option.strip()}", ranks=(0,))
        self.refuse(USAGE, "matmul", "--repetitions", "0", words="--repetitions", ranks=(3,))
        for option, value, type_ in (("alpha", "1e39", "f32"), ("beta", "1e-46", "f32"), ("alpha", "1+1e39j", "c64")):
            self.refuse(USAGE, "matmul", "--n", 8, f"--{option}", value, "--type", type_, words=(f"--{option} {value}", type_), ranks=(0,))
        self.refuse(USAGE, "matmul", "--alpha", "(1+2j)", words=("'(1+2j)'", "1.5-2j"), ranks=(0,))

    def test_unknown_choices(self):
        for option, value, near in (("kernel", "tyled", "'tiled'"), ("type", "f23", "'f32'"), ("trans-a", "C", "N, T"),
                                    ("algorithm", "suma", "'summa'"), ("verify-output", "al", "'all'")):
            self.refuse(USAGE, "matmul", f"--{option}", value, words=(f"--{option}", f"'{value}'", near), ranks=(0,))
        self.refuse(USAGE, "matmul", "--kernel", "naive,tyled", words="'tyled'")

    def test_list_where_one_value_is_expected(self):
        for option, value in (("repetitions", "3,5"), ("seed", "1:3"), ("alpha", "1,2"), ("stall-limit", "5,6")):
            self.refuse(USAGE, "matmul", f"--{option}", value, words=f"--{option}", ranks=(0,))

    def test_operands_that_do_not_go_together(self):
        self.refuse(USAGE, "matmul", "--a", self.a, words=("--a", "--b"))
        self.refuse(USAGE, "matmul", "--c", self.a, words="--c")
        self.refuse_product(USAGE, "--beta", 2, words="--beta")
        self.refuse_product(USAGE, "--c", self.a, words="--beta")
        self.refuse(USAGE, "matmul", "--n", "4,8", "--out", "c.h5:/C", words="--out")
        self.refuse(USAGE, "matmul", "--algorithm", "summa", "--grid", "5x5", words="--grid")
        self.refuse_product(USAGE, "--n", 64, words="--n")

    def test_one_line_before_anything_starts(self):
        """What one look at the words tells is told once, by however many ranks."""
        self.refuse(USAGE, "sort", "--n", 10, "--quantiles", "0.5,2", words=("--quantiles", "'2'"))
        self.refuse(USAGE, "matmul", "--n", 8, "--algorithm", "summa", "--grid", "0x0", words=("--grid", "'0x0'"))
        self.refuse(USAGE, "stencil", "--shape", "8x8", "--preview", "u.jpg", words=("--preview", "'u.jpg'", "PNG"))

    def test_names_that_are_no_dataset(self):
        for name in ("a.h5", ":/A", "a.h5:A", "a.h5:/", "", "a.h5:"):
            self.refuse(USAGE, "matmul", "--a", name or "x", "--b", self.b, words="--a", ranks=(0,))
        self.refuse_product(USAGE, out="c.h5", words=("--out", "'c.h5'"))
        self.refuse_product(USAGE, out="c.h5:/./_tessera", words=("--out", "'.' in its path"))

    def test_sizes_that_overflow(self):
        self.refuse(USAGE, "matmul", "--n", "4000000000000000000", words="overflows 64 bits")
        self.refuse(USAGE, "matmul", "--m", "4000000000", "--n", "4000000000", "--k", 1, words="overflows 64 bits")

    def test_sizes_that_cannot_fit(self):
        for n in ("2000000", "100000000"):  # no plan walks through its pieces
            self.refuse(MEMORY, "matmul", "--n", n, words=("iB", "free memory"))
        self.refuse(MEMORY, "matmul", "--n", 512, "--memory", "1MiB", words=("1 MiB", "--memory"))
        self.refuse(MEMORY, "matmul", "--m", "1000000000000", "--n", 1, "--k", 0, "--out", "c.h5:/C", words="TiB")

    def test_environment(self):
        self.refuse(USAGE, "matmul", environment={"TESSERA_N": "many"}, words=("TESSERA_N", "'many'"))
        self.refuse(USAGE, "matmul", environment={"TESSERA_KERNEL": "tyled"}, words=("TESSERA_KERNEL", "'tiled'"))
        self.refuse(USAGE, "matmul", environment={"TESSERA_STALL_LIMIT": "soon"}, words="TESSERA_STALL_LIMIT")

    def test_the_line_comes_whatever_rank_ends_first(self):
        """Many ranks that all refuse at once: mpirun kills the rest as soon as one is gone."""
        for _ in range(40 if tessera.SLOW else 15):
            self.fail_with(USAGE, "matmul", "--kernal", "x", words="--kernal", ranks=7)


class Verify(BadInput):
    def test_what_cannot_be_verified(self):
        self.refuse(MISSING, "verify", "nothere.h5", words="'nothere.h5'")
        self.refuse(BAD_DATA, "verify", "a.h5", words=("'a.h5'", "not written by Tessera"))
        with open(self.path("text.h5"), "w") as file:
            file.write("not a matrix\n")
        self.refuse(BAD_DATA, "verify", "text.h5", words="'text.h5'")
        self.refuse(MISSING, "report", "nothere.h5", words="'nothere.h5'")


if __name__ == "__main__":
    tessera.main()
