"""State inherited from a parent process: closed descriptors, ignored signals, limits and OpenMP
settings."""

import os
import signal
import subprocess

import tessera
from tessera import CANNOT_CREATE, IO, MEMORY, MISSING, OK, USAGE, h5py

QUICK = ("--repetitions", 1, "--warmups", 0)


class Parent(tessera.Case):
    def start(self, *words, prepare):
        """Returns the exit code and the output on descriptor 2 of a run in a process prepared by
        `prepare`."""
        command = [tessera.PROGRAM, *map(str, words)]
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              preexec_fn=prepare, timeout=tessera.PATIENCE, check=False)
        return done.returncode, done.stderr

    def test_closed_descriptors_are_nobodys_file(self):
        """The next opened file would get the descriptor, and with it the messages for the terminal.
        """
        for closed in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)):
            code, err = self.start("matmul", "--n", 64, *QUICK, "--out", "c.h5:/C", "--results",
                                   "r.h5", "--overwrite",
                                   prepare=lambda numbers=closed: [os.close(n) for n in numbers])
            self.assertEqual((code, err), (OK, ""), closed)
            self.succeed("verify", "c.h5")

    def test_the_folder_may_be_gone(self):
        for words in (("--results", "r.h5"), ("--out", "c.h5:/C"), ()):
            os.mkdir(self.path("gone"))
            code, err = self.start("matmul", "--n", 8, *QUICK, *words,
                                   prepare=lambda: [act(self.path("gone"))
                                                    for act in (os.chdir, os.rmdir)])
            self.assertEqual(code, CANNOT_CREATE if words else OK, err)
            self.assertEqual("No such file" in err, bool(words), err)

    def test_children_are_waited_for_where_their_end_is_ignored(self):
        """Children of a process below `trap '' CHLD` leave no exit code, and a failure would look
        like success."""
        with h5py.File(self.path("a.h5"), "w") as file:
            file["A"] = [[1.0]]
        for words, code in ((("transpose", "--in", "a.h5:/A"), OK),
                            (("transpose", "--in", "a.h5:/none"), MISSING),
                            (("report", "none.h5"), MISSING)):
            got, err = self.start(*words, prepare=lambda: signal.signal(signal.SIGCHLD,
                                                                        signal.SIG_IGN))
            self.assertEqual(got, code, err)


class Limits(tessera.Case):
    def limited(self, flag, value, *words):
        return self.run_tessera("-c", f"ulimit {flag} {value}; exec \"$@\"", "bash",
                                tessera.PROGRAM, *words, program="bash")

    def test_a_stack_too_small_for_recursion(self):
        self.assert_failed(self.limited("-s", 64, "sort", "--n", 100), MEMORY,
                           ("64 KiB", "ulimit -s"))

    def test_stacks_that_threads_cannot_have(self):
        for size, words in (("64k", ("OMP_STACKSIZE", "64 KiB", "unset")), (" 100 ", ("100 KiB",)),
                            ("1000000g", ("OMP_STACKSIZE", "unset"))):
            with self.subTest(size):
                self.fail_with(MEMORY, "sort", "--n", 100, "--threads", 2, words=words,
                               environment={"OMP_STACKSIZE": size})
        self.succeed("sort", "--n", 100, "--threads", 2, environment={"OMP_STACKSIZE": "nonsense"})

    def test_a_full_disk_for_what_is_said(self):
        for words in (("list",), ("sort", "--n", 100, "--plan"), ("sort", "--n", 100)):
            result = self.run_tessera("-c", "exec \"$@\" >/dev/full", "bash", tessera.PROGRAM,
                                      *words, program="bash")
            self.assert_failed(result, IO, ("standard output", "No space left"))


class Names(tessera.Case):
    def test_those_that_are_no_utf8_are_reported(self):
        name = os.fsdecode(b"c\xff\xfe.h5")
        self.succeed("matmul", "--n", 8, *QUICK, "--out", f"{name}:/C", "--results", "r.h5")
        self.succeed("report", "r.h5")
        self.assertTrue(os.path.exists(self.path("r.html")))

    def test_a_file_of_parameters_names_no_other(self):
        with open(self.path("c.toml"), "w") as file:
            file.write('config = "d.toml"\n')
        result = self.fail_with(USAGE, "matmul", "--config", "c.toml",
                                words=("c.toml:1:1", "'config'", "--config"))
        self.assertNotIn("did you mean", result.err)


class OpenMP(tessera.Case):
    def threads(self, environment, *words):
        self.succeed("matmul", "--n", 8, *QUICK, *words, "--results", "r.h5", "--again",
                     environment=environment)
        with h5py.File(self.path("r.h5")) as file:
            return int(file[sorted(file)[-1]]["summary/threads"][0])

    def test_a_limit_of_threads_is_kept_and_told(self):
        limit = {"OMP_THREAD_LIMIT": "2"}
        self.assertEqual(self.threads({**limit, "OMP_NUM_THREADS": "3"}), 2)
        self.assertEqual(self.threads(limit, "--threads", 2), 2)
        self.fail_with(USAGE, "matmul", "--n", 8, "--threads", "1,3", environment=limit,
                       words=("--threads 3", "OMP_THREAD_LIMIT", "2"))

    def test_no_more_threads_than_can_be_asked_for(self):
        self.fail_with(USAGE, "matmul", "--n", 8, environment={"OMP_NUM_THREADS": "100000"},
                       words=("OMP_NUM_THREADS", "100000", "4096"))


class WithoutSharedMemory(tessera.Case):
    """An MPI library without shared memory between the ranks of a node."""

    LACKS = {"OMPI_MCA_osc": "^sm"}

    def setUp(self):
        super().setUp()
        if tessera.mpi_family() != "Open MPI":
            self.skipTest("only Open MPI can be told to do without shared memory")

    def test_what_chooses_by_itself_sends_messages(self):
        for words in (("transpose", "--n", 300), ("matmul", "--n", 100),
                      ("stencil", "--shape", "60x50", "--steps", 9), ("sort", "--n", 5000)):
            with self.subTest(words[0]):
                outs = []
                for name, environment in (("plain.h5", {}), ("lacks.h5", self.LACKS)):
                    self.succeed(*words, *QUICK, "--out", f"{name}:/C", ranks=3,
                                 environment=environment)
                    outs.append(tessera.read_matrix(self.path(name)))
                    os.unlink(self.path(name))
                self.assertTrue((outs[0] == outs[1]).all())

    def test_asked_for_it_is_one_message(self):
        for words in (("transpose", "--n", 300, "--algorithm", "shared"),
                      ("stencil", "--shape", "60x50", "--exchange", "shared")):
            self.fail_with(USAGE, *words, *QUICK, ranks=3, environment=self.LACKS,
                           words=("shared memory", "OMPI_MCA_osc"))


if __name__ == "__main__":
    tessera.main()
