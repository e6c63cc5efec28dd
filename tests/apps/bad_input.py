"""Files and datasets that are missing, damaged, or of the wrong kind."""

import os
import pwd
import random
import shutil
import stat
import unittest

import tessera
from refused import PROMISED_SECONDS, Refused
from tessera import BAD_DATA, CANNOT_CREATE, MEMORY, MISSING, OK, h5py, numpy


class Files(Refused):
    def test_missing_file(self):
        self.refuse_product(MISSING, a="nothere.h5:/A", words=("'nothere.h5'", "No such file"))
        self.refuse_product(MISSING, b="nothere.h5:/B", words="'nothere.h5'")
        self.refuse_product(MISSING, a=self.path("no/such/folder/a.h5") + ":/A",
                            words="no/such/folder/a.h5")

    def test_directory(self):
        os.mkdir(self.path("folder"))
        self.refuse_product(MISSING, a="folder:/A", words=("'folder'", "directory"))

    def test_broken_link(self):
        os.symlink("gone.h5", self.path("link.h5"))
        self.refuse_product(MISSING, a="link.h5:/A", words="'link.h5'")

    def test_not_hdf5(self):
        for name, content in {"text.h5": b"not a matrix\n" * 200, "empty.h5": b"",
                              "zeros.h5": bytes(5000)}.items():
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.refuse_product(BAD_DATA, a=f"{name}:/A", words=(f"'{name}'", "HDF5"))

    def test_special_file(self):
        self.refuse_product(BAD_DATA, a="/dev/null:/A", words="'/dev/null'", ranks=(0,))
        os.mkfifo(self.path("pipe"))
        self.refuse_product(BAD_DATA, a="pipe:/A", words="'pipe'", ranks=(0,))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                         "needs root and setpriv to be somebody else")
    def test_unreadable_file(self):
        """Runs as a user without read permission."""
        nobody = pwd.getpwnam("nobody")
        os.chmod(self.folder, 0o777)
        os.chmod(self.path("a.h5"), 0)
        if not self.reachable_by(nobody, tessera.PROGRAM):
            self.skipTest("the program lies where others may not go")
        words = ("--reuid", str(nobody.pw_uid), "--regid", str(nobody.pw_gid), "--clear-groups",
                 tessera.PROGRAM)
        result = self.fail_with(MISSING, *words, "matmul", "--a", self.a, "--b", self.b,
                                program="setpriv",
                                words=("a.h5", "Permission denied"))
        self.assert_within(PROMISED_SECONDS, result.seconds)
        os.chmod(self.path("a.h5"), 0o644)
        os.chmod(self.folder, 0o755)
        for named, more in (("c.h5", ()), ("r.h5", ("--results", "r.h5"))):
            self.fail_with(CANNOT_CREATE, *words, "matmul", "--a", self.a, "--b", self.b, "--out",
                           "c.h5:/C", *more,
                           program="setpriv", words=(named, "ermission denied"))
        self.fail_with(CANNOT_CREATE, *words, "stencil", "--shape", 9, "--steps", 1, "--checkpoint",
                       "k.h5", program="setpriv",
                       words=("'k.h5'", "ermission denied"))

    def reachable_by(self, user, path):
        while path != "/":
            path = os.path.dirname(path)
            if not os.stat(path).st_mode & stat.S_IXOTH and os.stat(path).st_uid != user.pw_uid:
                return False
        return True

    def test_truncated_hdf5(self):
        """Truncation at every kind of position: refused as damaged, no crash, no product."""
        for storage in ("contiguous", "gzip", "userblock"):
            tessera.write_matrix(self.path("whole.h5"), numpy.ones((30, 20)), storage)
            with open(self.path("whole.h5"), "rb") as file:
                whole = file.read()
            cuts = {1, 7, 8, 9, 95, 96, 97, 511, 512, 600, len(whole) // 2, len(whole) - 8,
                    len(whole) - 1}
            for cut in sorted(cuts):
                with open(self.path("cut.h5"), "wb") as file:
                    file.write(whole[:cut])
                self.refuse_product(BAD_DATA, a="cut.h5:/A", words="'cut.h5'",
                                    ranks=(0, 3) if cut == len(whole) // 2 else (0,))

    def test_numbers_beyond_the_type(self):
        """Values that would become infinite are refused; infinities are accepted."""
        values = numpy.array([[1, -numpy.inf], [2, 3], [-1e300, 4]])
        with h5py.File(self.path("x.h5"), "w") as file:
            for kind, name in (("<f8", "little"), (">f8", "big"), ("<c16", "complex")):
                file[name] = values.astype(kind)
                file[name + "_key"] = values.ravel().astype(kind)
        for name in ("little", "big"):
            a, key = f"x.h5:/{name}", f"x.h5:/{name}_key"
            self.succeed("transpose", "--in", a + "[:2]", "--type", "f32", "--out", "t.h5:/T",
                         "--overwrite")
            numpy.testing.assert_array_equal(tessera.read_matrix(self.path("t.h5"), "T"),
                                             values[:2].T)
            for command in (("matmul", "--a", a, "--b", a, "--trans-b", "T"),
                            ("transpose", "--in", a, "--alpha", 2),
                            ("stencil", "--in", a), ("sort", "--in", key)):
                self.refuse(BAD_DATA, *command, "--type", "f32",
                            words=(f"x.h5:/{name}", "f32 cannot represent"),
                            ranks=(2,) if command[0] == "matmul" else (0,))
        self.refuse(BAD_DATA, "matmul", "--a", "x.h5:/complex", "--b", "x.h5:/complex", "--trans-b",
                    "T", "--type", "c64",
                    words="c64 cannot represent", ranks=(0,))

    def test_flipped_metadata(self):
        """Random changes to the metadata: a product, or one line; no crash and no hang."""
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
            result = self.run_tessera("matmul", "--a", "flipped.h5:/A", "--b", self.b, "--out",
                                      "c.h5:/C",
                                      "--overwrite", "--repetitions", 1)
            told = f"trial {trial}, bytes {where}\n{result}"
            if result.code == OK:
                os.unlink(self.path("c.h5"))
                continue
            refused += 1
            self.assertIn(result.code, (BAD_DATA, MISSING, MEMORY), told)
            self.assertEqual(len(result.errors), 1, told)
            self.assertEqual(tessera.snapshot(self.folder), before, told)
        self.assertGreater(refused, 0)


class Datasets(Refused):
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
        """A damaged header, which looks like a format too new for the library."""
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
            self.refuse_product(MISSING, a=f"l.h5:/{name}", words=(f"'/{name}'", "link"),
                                ranks=(0,))

    def test_wrong_dimensions(self):
        for name, shape, words in (("point", (), "2-D"), ("more", (1, 1, 20, 1), "2-D"),
                                   ("line", (19,), "the inner dimensions differ"),
                                   ("block", (3, 20, 4), "the inner dimensions differ")):
            with h5py.File(self.path("d.h5"), "w") as file:
                file[name] = numpy.ones(shape)
            self.refuse_product(BAD_DATA, a=f"d.h5:/{name}", words=(f"d.h5:/{name}", words),
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
            self.refuse_product(BAD_DATA, a=f"e.h5:/{name}",
                                words=(f"e.h5:/{name}", "real or integer numbers"),
                                ranks=(0, 3) if name == "text" else (0,))

    def test_inner_dimensions_differ(self):
        self.refuse_product(BAD_DATA, "--trans-a", "T",
                            words=("inner dimensions", "20 x 30", "20 x 25"))
        self.refuse_product(BAD_DATA, b=self.a, words=("inner dimensions", "30 x 20"))

    def test_c_of_another_shape(self):
        c = tessera.write_matrix(self.path("old.h5"), numpy.ones((25, 30)), name="C")
        self.refuse_product(BAD_DATA, "--c", c, "--beta", 1,
                            words=("old.h5:/C", "25 x 30", "30 x 25"))

    def test_missing_filter(self):
        """lzf, which h5py contains and the library does not."""
        with h5py.File(self.path("f.h5"), "w") as file:
            file.create_dataset("A", data=numpy.arange(600.0).reshape(30, 20), compression="lzf")
        self.refuse_product(BAD_DATA, a=self.path("f.h5") + ":/A",
                            words=("f.h5:/A", "filter 'lzf' (number 32000)", "h5py"))
        self.virtual("v.h5", "f.h5")
        self.refuse_product(BAD_DATA, a="v.h5:/A",
                            words=("v.h5:/A is virtual over f.h5:/A", "filter 'lzf'"))

    def virtual(self, name, source, **how):
        with h5py.File(self.path(name), "w") as file:
            layout = h5py.VirtualLayout((30, 20), "f8")
            layout[:] = h5py.VirtualSource(source, "A", (30, 20))
            file.create_virtual_dataset("A", layout, **how)

    def test_missing_source_of_a_virtual_dataset(self):
        os.mkdir(self.path("v"))
        self.virtual("v/v.h5", "a.h5")  # not in its folder, but in the current one
        self.succeed("transpose", "--in", "v/v.h5:/A")
        self.virtual("v.h5", "gone.h5")
        self.refuse_product(MISSING, a="v.h5:/A",
                            words=("v.h5:/A", "gone.h5:/A", "the file does not exist"))
        self.virtual("v.h5", "b.h5")  # which has no A
        self.refuse_product(MISSING, a="v.h5:/A", words=("source b.h5:/A is incomplete",
                                                         "the dataset does not exist"))


class Verify(Refused):
    def test_what_cannot_be_verified(self):
        self.refuse(MISSING, "verify", "nothere.h5", words="'nothere.h5'")
        self.refuse(BAD_DATA, "verify", "a.h5", words=("'a.h5'", "not written by Tessera"))
        with open(self.path("text.h5"), "w") as file:
            file.write("not a matrix\n")
        self.refuse(BAD_DATA, "verify", "text.h5", words="'text.h5'")
        self.refuse(MISSING, "report", "nothere.h5", words="'nothere.h5'")


if __name__ == "__main__":
    tessera.main()
