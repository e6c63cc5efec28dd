"""bench.sh peers, with scripts that print what the programs of peers print."""
import contextlib
import io
import os
import sys
import tempfile
import unittest
from unittest import mock

import peer_programs
import peers

TESSERA = """echo 'note: on stdout, too'
echo '{"schema":1,"points":[{"seconds":[0.4,0.1,0.2]}]}'"""

COSMA = """cat <<END
Strategy = Matrix dimensions (m, n, k) = (2048, 2048, 2048)
Number of processors: 2
COSMA TIMES [ms] = 100 100 100 900\x20
END"""

KADIS = """[ "$2" = uniform ] || { echo "no memory" >&2; exit 7; }
echo "KaDiS TIMES [ms] = 900.000 800.5 799.5 800.0" """

PRK = """Parallel Research Kernels version 2.17
MPI stencil execution on 2D grid
Number of ranks        = 2
Radius of stencil      = 2
Tiles in x/y-direction = 1/2
Type of stencil        = star
Number of iterations   = 10
Solution validates
Rate (MFlops/s): 4074.066632  Avg time (s): 0.074469
"""

GIRIH = """###INFO: Modified nt from 050 to 066 for the intra-diamond method to work properly
Number of time steps: 66
Time unroll:   15
Multi-wavefront updates: 1
Rank 0 TEST#01 time: 9.000000e-01
Rank 0 TEST#02 time: 6.600000e-01
Rank 0 TEST#03 time: 3.300000e-01
"""

YASK = """Stencil name: 3axis
 num-points-per-step:              2.09715e+06
 elapsed-time (sec):               0.034422
 elapsed-time (sec):               9.6e-05
 best-elapsed-time (sec):          0.029191
Stencil '3axis radius 1'.
"""

# A launcher that starts one process: its options end where a program begins.
LAUNCHER = """while [ ! -x "$1" ]; do [ $# != 0 ] || exit 0; shift; done
exec "$@" """


class Outputs(unittest.TestCase):
    def test_lists_of_milliseconds_lose_the_slowest(self):
        read = peer_programs.read_list("COSTA")
        self.assertEqual(read("x\nCOSTA TIMES [ms] = 949 133 86 \nSCALAPACK TIMES [ms] = 6 \n"),
                         [0.086, 0.133])
        read_one = peer_programs.read_list("SCALAPACK")
        self.assertEqual(read_one("SCALAPACK TIMES [ms] = 6 \n"), [0.006])
        with self.assertRaisesRegex(peer_programs.Failed, "ERROR: memory"):
            read("COSTA TIMES\nERROR: memory\n")

    def test_prk_counts_only_where_the_result_and_the_stencil_are_right(self):
        read = peer_programs.read_prk(48, "Radius of stencil *= 2", "Type of stencil *= star")
        self.assertAlmostEqual(read(PRK)[0], 48 * 0.074469)
        for old, new in (("Solution validates", "ERROR: L1 norm"),
                         ("stencil      = 2", "stencil = 4")):
            with self.assertRaises(peer_programs.Failed):
                read(PRK.replace(old, new))

    def test_girih_is_scaled_to_the_steps_asked_for_and_tunes_once(self):
        for found, right in zip(peer_programs.read_girih(50)(GIRIH), (0.5, 0.25)):
            self.assertAlmostEqual(found, right)
        words = peer_programs.settle_girih(GIRIH)
        self.assertEqual(words, ["--t-dim", "15", "--num-wavefronts", "1"])

    def test_yask_reports_a_time_for_each_trial(self):
        self.assertEqual(peer_programs.read_yask(YASK), [0.034422, 9.6e-05])
        with self.assertRaises(peer_programs.Failed):
            peer_programs.read_yask(YASK.replace("radius 1", "radius 4"))

    def test_both_sides_have_the_same_amount_of_work(self):
        for ranks, threads in ((16, 1), (4, 4), (1, 16), (7, 1)):
            for problem in peer_programs.problems(1, ranks, threads):
                self.assertTrue(problem.peers)
                words = dict(zip(problem.words[1::2], map(str, problem.words[2::2])))
                for one in problem.peers:
                    extents = [words[e] for e in ("--m", "--n", "--k", "--steps") if e in words]
                    given = list(map(str, one.words))
                    self.assertTrue(set(extents) <= set(given), (problem.name, one))

    def test_sizes_follow_the_memory(self):
        self.assertEqual(peer_programs.part_of(1e12, False), 1)
        self.assertEqual(peer_programs.part_of(1e12, True), 4)
        self.assertEqual(peer_programs.part_of(8e9, False), 2)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, text in {"tessera": TESSERA, "launcher": LAUNCHER, "b/cosma_miniapp": COSMA,
                           "b/kadis_sort": KADIS}.items():
            path = os.path.join(self.folder.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/bash\n" + text + "\n")
            os.chmod(path, 0o755)

    def peers(self, *arguments, folder="b"):
        printed = io.StringIO()
        environment = {"TESSERA_LAUNCHER": os.path.join(self.folder.name, "launcher"),
                       "TESSERA_PEERS": os.path.join(self.folder.name, folder)}
        words = ["peers.py", os.path.join(self.folder.name, "tessera"), "--quick", *arguments]
        with mock.patch.dict(os.environ, environment), mock.patch.object(sys, "argv", words), \
                contextlib.redirect_stdout(printed):
            code = peers.main()
        return code, printed.getvalue()

    def test_rows_have_ratios_and_lost_rows_are_listed(self):
        code, printed = self.peers("--ranks", "2", "--only", "f32")
        self.assertEqual(code, 0)
        table, lost = printed.split("Lost:\n")
        self.assertRegex(table, r"\| product f32 \d+\^3 \| 2 x 1 \| \S+ \| COSMA \(its layout\) "
                                r"\S+ \| GFLOP/s \| 0.50 \|\n")
        self.assertIn("| 0.50 |", lost)
        self.assertIn("missing: girih (mwd_kernel is in no folder of TESSERA_PEERS)", printed)
        self.assertIn(f"- COSMA: {self.folder.name}/b/cosma_miniapp", printed)

    def test_peers_that_fail_are_rows_too(self):
        code, printed = self.peers("--ranks", "2", "--only", "KaDiS")
        self.assertEqual(code, 0)
        self.assertRegex(printed, r"uniform \| 2 x 1 .*\| 4.00 \|\n")
        self.assertIn("KaDiS failed: exit code 7: no memory", printed)
        self.assertIn("No row is lost.", printed)

    def test_without_peers_the_variable_is_named(self):
        code, _ = self.peers(folder="launcher")
        self.assertIn("TESSERA_PEERS", code)


if __name__ == "__main__":
    unittest.main()
