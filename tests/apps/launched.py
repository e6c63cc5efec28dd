"""Detection of ranks: variables left by other jobs, scripts run by a launcher, ranks with different
requests."""

import os
import shlex
import socket

import tessera
from tessera import INTERNAL, MISSING, OK, USAGE, VERIFICATION, h5py, numpy

# Variables set by launchers, seen by a process that none of them started.
LEFTOVERS = {
    "Slurm": {"SLURM_PROCID": "1", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1", "SLURM_JOB_ID": "7"},
    "a step of Slurm": {"SLURM_PROCID": "1", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1",
                        "SLURM_NODEID": "0", "SLURM_JOBID": "7",
                        "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_STEPID": "0",
                        "SLURM_STEP_NUM_TASKS": "4",
                        "SLURM_NODELIST": "node1", "SLURM_TASKS_PER_NODE": "4"},
    "PMI": {"PMI_RANK": "1", "PMI_SIZE": "4", "PMI_FD": "9"},
    "PMIx": {"PMIX_RANK": "1", "PMIX_NAMESPACE": "4711"},
    "a PMIx server that is gone": {"PMIX_RANK": "1", "PMIX_NAMESPACE": "4711",
                                   "PMIX_SERVER_URI4": "4710.0;tcp4://127.0.0.1:1",
                                   "PMIX_SERVER_URI41": "4710.0;tcp4://127.0.0.1:1",
                                   "OMPI_MCA_ess": "^singleton",
                                   "OMPI_MCA_ess_base_vpid": "1", "OMPI_MCA_orte_launch": "1",
                                   "OMPI_MCA_pmix": "^s1,s2,cray,isolated"},
    "mpirun": {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4",
               "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
               "OMPI_COMM_WORLD_LOCAL_RANK": "1"},
}
QUICK = ("--repetitions", 1, "--warmups", 0)


class Launched(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.a = tessera.write_matrix(self.path("a.h5"), rng.normal(size=(30, 20)), name="A")

    def mpmd(self, *lines, folders=None, environment=None):
        """Starts a job with one rank per command line, each in its own folder if `folders` are
        given; "x=y" in front of a line applies to that rank only. A script chooses the line: given
        several programs, mpirun of Open MPI 5 as Debian 13 packages it crashes (ompi issue
        13303)."""
        script = self.path("lines.sh")
        with open(script, "w") as file:
            file.write("case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in\n")
            for rank, line in enumerate(lines):
                own = [word for word in map(str, line) if word.startswith("TESSERA_")]
                command = ["env", *own, tessera.PROGRAM, *map(str, line[len(own):])]
                folder = folders[rank] if folders else "."
                file.write(f"{rank}) cd {folder}; exec {shlex.join(command)} ;;\n")
            file.write("esac\n")
        return tessera.Job(["-n", len(lines), "sh", script], folder=self.folder,
                           environment=environment, program=tessera.MPIRUN).wait()


class Leftovers(Launched):
    """A process that no launcher started is a single rank, in any environment."""

    def test_a_damaged_file_is_found(self):
        self.succeed("transpose", "--in", self.a, "--out", "t.h5:/T")
        with h5py.File(self.path("t.h5"), "r+") as file:
            file["T"][3, 4] += 1
        for family, variables in LEFTOVERS.items():
            with self.subTest(family):
                result = self.run_tessera("verify", "t.h5", environment=variables)
                self.assertEqual(result.code, VERIFICATION, str(result))
                self.assertIn("NOT as it was written", result.out)

    def test_every_command_speaks(self):
        plain = {words: self.run_tessera(*words) for words in
                 (("list",), ("--version",), ("--help",), ("sort", "--help"), ("machine", "--show"),
                  ("doctor", "--quiet"))}
        for family, variables in LEFTOVERS.items():
            with self.subTest(family):
                for words, alone in plain.items():
                    result = self.run_tessera(*words, environment=variables)
                    self.assertNotEqual(result.out, "", str(result))
                    # their output depends on the environment
                    if words[0] not in ("machine", "doctor"):
                        self.assertEqual((result.code, result.out), (alone.code, alone.out),
                                         str(result))
                self.fail_with(USAGE, "list", "--nothing", words="--nothing", environment=variables)
                self.fail_with(USAGE, "lst", words="'lst'", environment=variables)
                self.fail_with(MISSING, "report", "none.h5", words="'none.h5'",
                               environment=variables)
                self.fail_with(USAGE, "slurm", words="name a workload", environment=variables)

    def test_every_workload_runs_as_one_rank(self):
        for family, variables in LEFTOVERS.items():
            with self.subTest(family):
                for words in (("transpose", "--in", self.a), ("matmul", "--n", 8),
                              ("sort", "--n", 50), ("stencil", "--shape", "8x8"),
                              ("memory", "--probe", "conflict", "--plan")):
                    result = self.succeed(*words, *(QUICK if "--plan" not in words else ()),
                                          environment=variables)
                    self.assertNotIn("PMIX", result.err)
                self.fail_with(MISSING, "transpose", "--in", "none.h5:/A", words="none.h5",
                               environment=variables)

    def test_a_program_under_a_rank_is_none(self):
        """Children of a rank inherit its variables, and so does a program that a script starts on
        one rank only."""
        script = self.path("one.sh")
        with open(script, "w") as file:
            file.write('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ] || exit 0\n'
                       f'"{tessera.PROGRAM}" list; '
                       f'"{tessera.PROGRAM}" verify a.h5\n'
                       'echo "code $?"\n')
        result = tessera.Job(["-n", 2, "sh", script], folder=self.folder,
                             program=tessera.MPIRUN).wait()
        self.assertIn("workload", result.out, str(result))
        self.assertIn("code 65", result.out, str(result))
        self.assertEqual(len(result.errors), 1, str(result))

    def test_a_script_between_launcher_and_ranks(self):
        script = self.path("wrapped.sh")
        with open(script, "w") as file:
            file.write('"$@"\nexit $?\n')
        words = ["-n", 2, "sh", script, tessera.PROGRAM]
        result = tessera.Job([*words, "matmul", "--n", 8, *QUICK], folder=self.folder,
                             program=tessera.MPIRUN).wait()
        self.assertEqual(result.code, OK, str(result))
        self.assertRegex(result.out, r"8 +8 +8.* 2 +\d+ ")
        result = tessera.Job([*words, "matmul", "--kernal", "x"], folder=self.folder,
                             program=tessera.MPIRUN).wait()
        self.assert_failed(result, USAGE, "--kernal")


class AnotherMpi(Launched):
    """Two MPI libraries are installed, and the mpirun of the PATH is that of the other."""

    def variables(self, rank, server):
        """Returns what the launcher of an MPI that the program does not have sets, for 3 ranks."""
        port = server.getsockname()[1]
        if tessera.mpi_family() == "Open MPI":
            return {"PMI_RANK": rank, "PMI_SIZE": "3", "PMI_PORT": f"127.0.0.1:{port}"}
        return {"PMIX_RANK": rank, "PMIX_NAMESPACE": "1", "OMPI_COMM_WORLD_SIZE": "3",
                "PMIX_SERVER_URI41": f"1.0;tcp4://127.0.0.1:{port}"}

    def test_ranks_that_are_alone_each_do_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.fail_with(INTERNAL, "matmul", "--n", 8, "--out", "c.h5:/C",
                           words=("started 3 processes", "another MPI", tessera.mpi_family()),
                           environment=self.variables("0", server))
            other = self.run_tessera("matmul", "--n", 8, "--out", "c.h5:/C",
                                     environment=self.variables("1", server))
        self.assertEqual((other.code, other.out, other.err), (INTERNAL, "", ""))
        self.assertFalse(os.path.exists(self.path("c.h5")))


class ToldDifferently(Launched):
    """Requests are compared before anything is allocated."""

    def refuse(self, *lines, code=USAGE, words=(), environment=None):
        result = self.mpmd(*lines, environment=environment)
        self.assert_failed(result, code, words)
        self.assertEqual(result.out, "", str(result))
        for noise in ("signal", "MPI_ERR", "Backtrace"):
            self.assertNotIn(noise, result.err, str(result))
        return result

    def test_options(self):
        product = ("matmul", *QUICK, "--n")
        self.refuse((*product, 8), (*product, 16), words=("--n 8", "--n 16", "rank 0", "rank 1"))
        self.refuse((*product, 8), (*product, 8), (*product, "8,9"),
                    words=("--n 8", "--n 8,9", "rank 2"))
        self.refuse((*product, 8), (*product, 8, "--type", "f32"),
                    words=("--type auto", "--type f32"))
        self.refuse((*product, 8, "--kernel", "tiled"), (*product, 8),
                    words=("--kernel tiled", "--kernel auto"))
        self.refuse((*product, 8, "--out", "c.h5:/C"), (*product, 8),
                    words=("--out c.h5:/C", "no --out"))

    def test_commands(self):
        product = ("matmul", "--n", 8)
        self.refuse(product, ("transpose", "--n", 8),
                    words=("the command matmul", "the command transpose"))
        for other in (("--help",), ("matmul", "--help"), ("--version",), ("list",),
                      ("verify", "a.h5")):
            self.refuse(product, other, words="the command")
            self.refuse(other, product, words="the command")
        self.refuse(("verify", "a.h5"), ("verify", "b.h5"), words=("file a.h5", "file b.h5"))

    def test_a_wrong_request_of_one_rank(self):
        self.refuse(("matmul", "--n", 8), ("matmul", "--n", "x"),
                    words=("--n", "'x'", "rank 1 of 2"))
        self.refuse(("lst",), ("matmul", "--n", 8), words=("'lst'", "rank 0 of 2"))

    def test_environment(self):
        product = ("matmul", "--n", 8, *QUICK)
        self.refuse(("TESSERA_SEED=1", *product), ("TESSERA_SEED=2", *product),
                    words=("--seed 1", "--seed 2", "TESSERA_SEED"))
        self.refuse(product, ("TESSERA_ALPHA=2", *product),
                    words=("--alpha 1", "--alpha 2", "TESSERA_ALPHA"))

    def test_files_of_options(self):
        for name, text in (("one.toml", "n = 8\n"), ("two.toml", "n = 16\n"),
                           ("same.toml", "# nothing else\nn = 8\n")):
            with open(self.path(name), "w") as file:
                file.write(text)
        one = ("matmul", *QUICK, "--config", "one.toml")
        self.refuse(one, (*one[:-1], "two.toml"), words=("--n 8 (one.toml:1:1)",
                                                         "--n 16 (two.toml:1:1)"))
        self.assertEqual(self.mpmd(one, (*one[:-1], "same.toml")).code, OK)

    def test_files_that_are_not_the_same(self):
        """Different files of one name: two folders that the ranks change into."""
        for folder, rows, type_ in (("here", 6, "f8"), ("there", 8, "f8"), ("types", 12, "f4")):
            os.mkdir(self.path(folder))
            tessera.write_matrix(self.path(f"{folder}/a.h5"), numpy.ones((rows, 4), dtype=type_),
                                 name="A")
        os.mkdir(self.path("empty"))
        for other, words in (("there", "bytes"), ("types", "begins"),
                             ("empty", "cannot be opened")):
            sizes = {os.path.getsize(self.path(f"{f}/a.h5")) for f in ("here", "types")}
            if other == "types":
                self.assertEqual(len(sizes), 1, "the two are to differ in their types alone")
            request = ("transpose", "--in", "a.h5:/A", *QUICK)
            result = self.mpmd(request, request, folders=("here", other))
            self.assert_failed(result, MISSING, ("'a.h5'", words, "rank 0", "rank 1"))

    def test_what_may_differ(self):
        product = ("matmul", "--n", 8, *QUICK)
        self.assertEqual(self.mpmd((*product, "--threads", 1), (*product, "--threads", 2)).code, OK)
        self.assertEqual(self.mpmd((*product, "--memory", "1GiB"), product).code, OK)
        self.assertEqual(self.mpmd((*product, "--stall-limit", 500), product).code, OK)
        self.refuse((*product, "--threads", 1), (*product, "--threads", "1,2"), words="--threads")

    def test_memory_limits_that_differ_plan_alike(self):
        """Each of these methods depends on the memory limit of a rank."""
        for words in (("sort", "--n", 100000), ("transpose", "--n", 300, "--out", "t.h5:/T",
                                                "--overwrite"), ("matmul", "--n", 300)):
            result = self.mpmd((*words, *QUICK, "--memory", "2MiB"),
                               (*words, *QUICK, "--memory", "2GiB"))
            self.assertIn(result.code, (OK, tessera.MEMORY), str(result))
            self.assertLessEqual(len(result.errors), 1)


if __name__ == "__main__":
    tessera.main()
