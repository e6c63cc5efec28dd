"""What a wrong request gets: one line that names the thing, the documented exit code, in no time,
nothing written.

Every case runs alone, and on 3 ranks (nobody hangs) the first of its kind, or all in the complete
set, within 3 s
stretched by how slow the machine is now.
"""

import tessera
from tessera import numpy

PROMISED_SECONDS = 3


class Refused(tessera.Case):
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
        for result in [job.wait() for job in jobs]:
            self.assert_failed(result, code, words)
            self.assert_within(PROMISED_SECONDS, result.seconds, str(result))
            for noise in ("HDF5-DIAG", "terminate called", "what():", "Backtrace", "signal"):
                self.assertNotIn(noise, result.out + result.err, str(result))
            self.assertEqual(result.out, "", str(result))
            self.assertEqual(tessera.snapshot(self.folder), before,
                             f"something was written\n{result}")

    def refuse_product(self, code, *more, a=None, b=None, out="c.h5:/C", words=(), **how):
        self.refuse(code, "matmul", "--a", a or self.a, "--b", b or self.b, "--out", out, *more,
                    words=words, **how)
