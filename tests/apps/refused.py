"""Refusal of invalid requests: one line that names the cause, the documented exit code, within
seconds, nothing written.

Every case runs on one process; the first of its kind, or all in the complete set, also on 3 ranks
(none may hang), within 3 s scaled by the machine's current slowness."""

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
        """Expects an immediate refusal on one process and on 3 ranks, with nothing written."""
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
