"""Small shell limits (ulimit -v, -u, -n, -s): the correct result, or one line and the code of the
missing resource.

If the loader lacks memory for the libraries, or initialisers of the libraries do, they fail before
the program begins: such limits are left out."""

import os
import pwd
import shutil
import unittest

import tessera
from tessera import MEMORY, OK, h5py, numpy

WORKLOADS = (("matmul", "--a", "in.h5:/A", "--b", "in.h5:/A"), ("transpose", "--in", "in.h5:/A"),
             ("stencil", "--in", "in.h5:/A", "--steps", 2), ("sort", "--in", "in.h5:/k"))


class Limits(tessera.Case):
    def setUp(self):
        super().setUp()
        with h5py.File(self.path("in.h5"), "w") as file:
            file.create_dataset("A", data=numpy.eye(30), chunks=(10, 30), compression=1)
            file["k"] = numpy.arange(500)[::-1]

    def limited(self, flag, value, *words, shell=("bash",), **how):
        """Returns whether the run succeeded; otherwise it must print one line and return MEMORY."""
        start = (*shell[1:], "-c", f"ulimit {flag} {value}; exec \"$@\"", "bash", tessera.PROGRAM)
        result = self.run_tessera(*start, *words, program=shell[0], **how)
        if result.code == OK:
            self.assertEqual(result.errors, [], str(result))
            return True
        least = self.run_tessera(*start, "--version", program=shell[0], **how)
        if least.err and not least.errors:
            return False
        self.assert_failed(result, MEMORY, f"ulimit {flag}")
        self.assertNotIn("is damaged", result.err, str(result))
        self.assertEqual(len(result.err.splitlines()), 1, f"ulimit {flag} {value}: {result}")
        return False

    def through(self, flag, values, shell=("bash",), **how):
        """Runs all workloads, each under the values in turn; the last must succeed."""
        for w, words in enumerate(WORKLOADS):
            for value in values[w % 2::2]:
                right = self.limited(flag, value, *words, "--repetitions", 1, "--warmups", 0,
                                     shell=shell, **how)
            self.assertTrue(right, f"ulimit {flag} {value} should do for {words}")

    @unittest.skipIf(tessera.SANITIZED, "sanitizers need all the address space there is")
    def test_address_space(self):
        least = max(50000, os.path.getsize(tessera.PROGRAM) // 1024)  # KiB; less cannot load it
        self.through("-v", [*range(least, 250000, 13000), 2500000, 2500000], threads=2)

    def test_address_space_of_many_threads(self):
        """More threads than address space for their stacks."""
        if tessera.SANITIZED:
            self.skipTest("sanitizers need all the address space there is")
        self.limited("-v", 1000000, "sort", "--in", "in.h5:/k", threads=300)
        self.assertFalse(self.limited("-v", 1000000, "sort", "--in", "in.h5:/k", "--threads", 300))

    def test_open_files(self):
        self.through("-n", [*range(5, 30, 3), 64, 64])

    def test_stack(self):
        self.through("-s", [64, 128, 256, 400, 512, 1024, 2048, 2048])

    @unittest.skipUnless(os.geteuid() != 0 or shutil.which("setpriv"),
                         "root has no limit of processes, and needs setpriv")
    def test_processes(self):
        """Runs as a user without other processes: the limit does not apply to root."""
        shell = ("bash",)
        if os.geteuid() == 0:
            user = 60000 + os.getpid() % 5000  # other suites may run on this machine
            shell = ("setpriv", "--reuid", str(user), "--regid", str(pwd.getpwnam("nobody").pw_gid),
                     "--clear-groups", "bash")
            os.chmod(self.folder, 0o777)
            if self.run_tessera(*shell[1:], "-c", f"test -x {tessera.PROGRAM}",
                                program="setpriv").code != OK:
                self.skipTest("the program lies where others may not go")
        self.through("-u", [1, 2, 3, 4, 5, 6, 7, 8, 4000, 4000], shell=shell, threads=3)


if __name__ == "__main__":
    tessera.main()
