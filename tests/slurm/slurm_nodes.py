"""Scripts of `tessera slurm` on a private Slurm whose nodes differ in cores and memory.

The nodes are fake: each is a slurmd of this machine that claims other figures, so that Slurm
allocates as on such a cluster; jobs of one node run. Skipped where Slurm cannot be had."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import tessera  # noqa: E402
import private_slurm  # noqa: E402

NODES = {"small": (2, 900), "big": (4, 3000), "large": (4, 9000)}
cluster = None


def setUpModule():
    global cluster
    try:
        cluster = private_slurm.PrivateSlurm(packages=os.environ.get("TESSERA_SLURM_PACKAGES"),
                                             nodes=NODES)
    except private_slurm.Unavailable as reason:
        raise unittest.SkipTest(str(reason)) from None


def tearDownModule():
    left = cluster.stop()
    cluster.remove()
    if left:
        raise AssertionError(f"left behind: {left}")


class Nodes(tessera.Case):
    def environment(self):
        return {**cluster.environment, "TESSERA_MACHINE_FILE": self.path("machine.toml"),
                "OMPI_MCA_btl_vader_backing_directory": cluster.path("tmp")}

    def script(self, *words, note=""):
        """Returns the file of a script; checks what the command notes about the nodes."""
        result = self.succeed("slurm", *words, "--time", 5, "--tasks-per-node", 1, "--script",
                              "job.sbatch", "--overwrite", environment=self.environment())
        self.assertIn(note, result.err)
        self.assertEqual(bool(note), bool(result.err), str(result))
        with open(self.path("job.sbatch")) as file:
            self.text = file.read()
        return self.path("job.sbatch")

    def accepts(self, script):
        """Returns whether Slurm could ever run the job."""
        done = cluster.client("sbatch", "--test-only", script, check=False, folder=self.folder)
        said = done.stderr + done.stdout
        self.assertRegex(said, "to start at|Requested node configuration is not available")
        return "to start at" in said

    def test_the_cores_of_the_smallest_node_are_requested(self):
        script = self.script("matmul", "--n", 64, "--nodes", 3)
        self.assertIn("#SBATCH --cpus-per-task=2\n", self.text)
        self.assertIn("# the partition has 1 node of 2 cores and 900 MiB, 1 node of 4 cores and "
                      "3000 MiB, 1 node of 4 cores and 9000 MiB: 3 suffice for 2 cores", self.text)
        self.assertTrue(self.accepts(script), self.text)

    def test_nodes_with_too_little_memory_are_left_out(self):
        script = self.script("matmul", "--n", 8000, "--nodes", 1)
        self.assertIn(": 2 suffice for 2 cores and ", self.text)
        self.assertTrue(self.accepts(script), self.text)
        script = self.script("matmul", "--n", 9000, "--nodes", 2)
        self.assertIn(": 2 suffice for 2 cores and ", self.text)
        self.assertTrue(self.accepts(script), self.text)

    def test_what_slurm_rejects_is_said_before(self):
        for words in (("matmul", "--n", 14000, "--nodes", 3),
                      ("matmul", "--n", 64, "--nodes", 3, "--cpus-per-task", 4),
                      ("sort", "--n", 2 * 10**9)):
            with self.subTest(words=words):
                self.assertFalse(self.accepts(self.script(*words, note=" (sbatch rejects")))

    def test_the_job_runs_on_a_node_that_suffices(self):
        """The smallest has the cores, but not the memory."""
        script = self.script("sort", "--n", 1000, "--mem", "2000MiB")
        self.assertIn(": 2 suffice for 2 cores and 2000 MiB a node", self.text)
        number = cluster.submit(script, folder=self.folder, environment=self.environment())
        task, = cluster.wait(number)
        with open(self.path(f"tessera-sort-{number}.out")) as file:
            said = file.read()
        self.assertEqual((task["JobState"], task["ExitCode"]), ("COMPLETED", "0:0"), said)
        self.assertIn(task["NodeList"], ("big", "large"))
        self.assertTrue(re.search("passed", said), said)


if __name__ == "__main__":
    tessera.main()
