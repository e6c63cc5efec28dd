"""Common parts of tests that disturb writing runs: the final name has no file, the old one, or the
complete new one."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "apps"))
import tessera
from tessera import OK

RANKS = 3
GONE_SECONDS = 5


class Fault(tessera.Case):
    def setUp(self):
        super().setUp()
        self.out = self.path("c.h5")

    def start(self, *arguments, **how):
        job = tessera.Job(arguments, folder=self.folder, **how)
        self.addCleanup(job.end)
        return job

    def partials(self, folder=None):
        return [name for name in os.listdir(folder or self.folder) if ".partial" in name]

    def assert_verified(self, file, told=""):
        result = tessera.run("verify", file)
        self.assertEqual(result.code, OK, f"a file under its final name is wrong\n{result}\n{told}")

    def assert_gone(self, job, told=""):
        left = job.wait_gone(GONE_SECONDS) and job.wait_gone(tessera.slack(GONE_SECONDS))
        self.assertEqual(left, {}, f"processes are left\n{told}")

    def wait_for_partial(self, job):
        """Waits until every rank has begun: they create the output collectively."""
        end = time.monotonic() + tessera.PATIENCE
        while not self.partials():
            self.assertIsNone(job.process.poll(), "it has ended")
            self.assertLess(time.monotonic(), end, "it does not begin")
            time.sleep(0.02)
