"""Invalid options and impossible outputs."""

import os

import tessera
from refused import Refused
from tessera import BAD_DATA, CANNOT_CREATE, MEMORY, USAGE, h5py, numpy


class Outputs(Refused):
    def test_output_exists(self):
        for content, words in ((b"precious", "not an HDF5"), (b"", "--overwrite")):
            with open(self.path("c.h5"), "wb") as file:
                file.write(content)
            self.refuse_product(CANNOT_CREATE, words=("'c.h5'", words))

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
        """The link's target is created, and the link remains."""
        os.symlink("elsewhere.h5", self.path("c.h5"))
        self.succeed("matmul", "--n", 8, "--out", "c.h5:/C")
        self.assertTrue(os.path.islink(self.path("c.h5")))
        self.succeed("verify", "elsewhere.h5")

    def test_output_in_an_input(self):
        """Given by the same name, another spelling, a symbolic link, a hard link, a link to the
        folder; even with --overwrite."""
        os.symlink("a.h5", self.path("soft.h5"))
        os.link(self.path("a.h5"), self.path("hard.h5"))
        os.symlink(".", self.path("here"))
        for name in (self.path("a.h5"), "./a.h5", "soft.h5", "hard.h5", "here/a.h5", "here/../" +
                     os.path.basename(self.folder) + "/b.h5"):
            self.refuse_product(USAGE, "--overwrite", out=f"{name}:/C",
                                words=("--out", "same file"),
                                ranks=(0, 3) if name == "soft.h5" else (0,))
        c = tessera.write_matrix(self.path("old.h5"), numpy.ones((30, 25)), name="C")
        self.refuse_product(USAGE, "--overwrite", "--c", c, "--beta", 1, out="old.h5:/C2",
                            words=("--out", "--c"))

    def test_results_in_an_input_or_output(self):
        """Results are appended to their file: it must be neither an input nor an output, which
        would be replaced."""
        self.refuse_product(USAGE, "--results", "a.h5", words=("--results", "--a"))
        self.refuse_product(USAGE, "--results", "./c.h5", words=("--results", "--out"))

    def test_results_that_cannot_be_written_end_it_before_anything_is_computed(self):
        for words in (("matmul", "--n", 8, "--out", "c.h5:/C"),
                      ("scalability", "forkjoin", "--n", 5), ("locality", "sort", "--n", 9)):
            self.refuse(CANNOT_CREATE, *words, "--results", "a.h5/deep/r.h5",
                        words="a.h5/deep/r.h5",
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
            self.refuse(BAD_DATA, "matmul", "--n", 8, "--results", name,
                        words=(f"'{name}'", word, "another"))
            self.refuse(BAD_DATA, "locality", "sort", "--n", 9, "--results", name,
                        words=(f"'{name}'", word))

    def test_reserved_names_in_the_output(self):
        for path in ("/_tessera", "/_tessera/C", "/row/C", "/col/a/b"):
            self.refuse_product(USAGE, out=f"c.h5:{path}", words=path, ranks=(0,))
        self.refuse_product(USAGE, out="c.h5:/C/", words="c.h5:/C/", ranks=(0,))
        self.refuse_product(USAGE, out="c.h5:/C[0:5]", words=("--out", "c.h5:/C[0:5]"), ranks=(0,))

    def test_output_of_generated_data_that_is_no_dataset(self):
        for words in (("matmul", "--n", 8), ("transpose", "--n", 8), ("sort", "--n", 8),
                      ("stencil", "--shape", "8x8")):
            self.refuse(USAGE, *words, "--out", "c.h5", words=("--out", "'c.h5'"))
        self.refuse_product(USAGE, out="c.h5://", words="c.h5://", ranks=(0,))


class Options(Refused):
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
        self.refuse_product(USAGE, out="", words=("'--out'", "requires a value"))
        self.refuse(USAGE, "verify", words="verify")

    def test_bad_values(self):
        for option, value in {"n": "many", "m": "-1", "k": "1.5", "repetitions": "0",
                              "warmups": "-1", "threads": "-2",
                              "alpha": "one", "beta": "1,2", "tile": "0", "panel": "0",
                              "column-width": "0",
                              "memory": "lots", "stall-limit": "-1", "seed": "x", "n ": "1e30",
                              "threads ": "100000", "k ": "99999999999999999999", "n  ": "5,,6",
                              "m ": "8:4",
                              "m  ": "1:9:x1", "k  ": "1:2:3:4", "grid": "2by3", "alpha ": "nan",
                              "beta ": "inf", "alpha  ": "1e999", "m   ": "4:8:0"}.items():
            self.refuse(USAGE, "matmul", f"--{option.strip()}={value}", words=f"--{option.strip()}",
                        ranks=(0,))
        self.refuse(USAGE, "matmul", "--repetitions", "0", words="--repetitions", ranks=(3,))
        for option, value, type_ in (("alpha", "1e39", "f32"), ("beta", "1e-46", "f32"),
                                     ("alpha", "1+1e39j", "c64")):
            self.refuse(USAGE, "matmul", "--n", 8, f"--{option}", value, "--type", type_,
                        words=(f"--{option} {value}", type_), ranks=(0,))
        self.refuse(USAGE, "matmul", "--alpha", "(1+2j)", words=("'(1+2j)'", "1.5-2j"), ranks=(0,))

    def test_unknown_choices(self):
        for option, value, near in (("kernel", "tyled", "'tiled'"), ("type", "f23", "'f32'"),
                                    ("trans-a", "C", "N, T"),
                                    ("algorithm", "suma", "'summa'"),
                                    ("verify-output", "al", "'all'")):
            self.refuse(USAGE, "matmul", f"--{option}", value,
                        words=(f"--{option}", f"'{value}'", near), ranks=(0,))
        self.refuse(USAGE, "matmul", "--kernel", "naive,tyled", words="'tyled'")

    def test_list_where_one_value_is_expected(self):
        for option, value in (("repetitions", "3,5"), ("seed", "1:3"), ("alpha", "1,2"),
                              ("stall-limit", "5,6")):
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
        """An error of parsing is reported once, for any number of ranks."""
        self.refuse(USAGE, "sort", "--n", 10, "--quantiles", "0.5,2", words=("--quantiles", "'2'"))
        self.refuse(USAGE, "matmul", "--n", 8, "--algorithm", "summa", "--grid", "0x0",
                    words=("--grid", "'0x0'"))
        self.refuse(USAGE, "stencil", "--shape", "8x8", "--every", 5,
                    words=("--every", "--snapshots"))

    def test_names_that_are_no_dataset(self):
        for name in ("a.h5", ":/A", ":A", "a.h5:/", "", "a.h5:"):
            self.refuse(USAGE, "matmul", "--a", name or "x", "--b", self.b, words="--a", ranks=(0,))
        self.refuse_product(USAGE, out="c.h5", words=("--out", "'c.h5'"))
        self.refuse_product(USAGE, out="c.h5:/./_tessera", words=("--out", "'.' in its path"))

    def test_sizes_that_overflow(self):
        self.refuse(USAGE, "matmul", "--n", "4000000000000000000", words="overflows 64 bits")
        self.refuse(USAGE, "matmul", "--m", "4000000000", "--n", "4000000000", "--k", 1,
                    words="overflows 64 bits")

    def test_sizes_that_cannot_fit(self):
        for n in ("2000000", "100000000"):  # the plan must not loop over its pieces
            self.refuse(MEMORY, "matmul", "--n", n, words=("iB", "free memory"))
        self.refuse(MEMORY, "matmul", "--n", 512, "--memory", "1MiB", words=("1 MiB", "--memory"))
        self.refuse(MEMORY, "matmul", "--m", "1000000000000", "--n", 1, "--k", 0, "--out",
                    "c.h5:/C", words="TiB")

    def test_environment(self):
        self.refuse(USAGE, "matmul", environment={"TESSERA_N": "many"},
                    words=("TESSERA_N", "'many'"))
        self.refuse(USAGE, "matmul", environment={"TESSERA_KERNEL": "tyled"},
                    words=("TESSERA_KERNEL", "'tiled'"))
        self.refuse(USAGE, "matmul", environment={"TESSERA_STALL_LIMIT": "soon"},
                    words="TESSERA_STALL_LIMIT")

    def test_the_line_comes_whatever_rank_ends_first(self):
        """Many ranks that fail at once: mpirun kills the rest as soon as one has ended."""
        for _ in range(40 if tessera.SLOW else 15):
            self.fail_with(USAGE, "matmul", "--kernal", "x", words="--kernal", ranks=7)


if __name__ == "__main__":
    tessera.main()
