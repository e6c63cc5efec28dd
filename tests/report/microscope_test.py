"""microscope_test.py SCRIPTS TESSERA SCRATCH: pictures of fork-join computations against manually
derived numbers."""
import made
from made import np

made.require("matplotlib")

import microscope
import style
from picture_words import troubles

# A fork of two sides: strand 0, then 1 and 2, then 3; the first side is the longer one.
STRANDS = [dict(zip(("strand", "operations", "depth", "critical", "first", "second"), row))
           for row in ((0, 2, 2, 1, 1, 2), (1, 5, 7, 1, 3, -1), (2, 3, 5, 0, 3, -1),
                       (3, 1, 8, 1, -1, -1))]
SIZE = {"kernel": "fib", "n": 3, "threshold": 1, "work": 11, "span": 8, "parallelism": 1.375,
        "work_growth": "phi^n", "span_growth": "n"}


def schedule(p, time, seconds=float("nan"), misses=10):
    return {"processors": p, "time": time, "excess": 0.1, "steals": p - 1, "misses_alone": misses,
            "misses_bound": misses + 64 * (p - 1), "cold": misses, "replaced": 0,
            "true_sharing": 0, "false_sharing": p - 1, "seconds": seconds}


def study(*schedules):
    made_up = microscope.Study("key", [SIZE], "forkjoin", "forkjoin_0001")
    made_up.schedules, made_up.strands = list(schedules), STRANDS
    for p in (1, 2, 16):
        made_up.executions += [{"processors": p, "strand": s, "worker": int(s == 2 and p > 1),
                                "begin": begin, "stolen_from": 0 if s == 2 and p > 1 else -1}
                               for s, begin in enumerate((0, 2, 3, 7))]
    return made_up


class Microscope(made.Case):
    def test_sides_of_a_fork_are_neighbours_below_it(self):
        self.assertEqual(microscope.layout({row["strand"]: row for row in STRANDS}),
                         {0: 1.0, 1: 0.5, 2: 1.5, 3: 1.0})

    def test_speed_ups_and_their_bounds(self):
        lines = microscope.speedups(study(schedule(1, 11, 4.0), schedule(2, 8, 2.5),
                                          schedule(16, 8)))
        np.testing.assert_allclose(lines["at most: min(P, T_1/T_inf)"][1], [1, 1.375, 1.375])
        np.testing.assert_allclose(lines["greedy: T_1/P + T_inf"][1],
                                   [11 / 19, 11 / 13.5, 11 / (11 / 16 + 8)])
        np.testing.assert_allclose(lines["work stealing"][1], [1, 1.375, 1.375])
        np.testing.assert_allclose(lines["measured"], [[1, 2], [1, 1.6]])
        self.assertNotIn("measured", microscope.speedups(study(schedule(2, 8, 2.5))))

    def test_misses_without_zeros(self):
        lines = microscope.misses(study(schedule(1, 11), schedule(2, 8)))
        self.assertNotIn("true sharing", lines)
        np.testing.assert_allclose(lines["false sharing"], [[2], [1]])
        np.testing.assert_allclose(lines["coherent caches"][1], [10, 11])
        self.assertFalse(microscope.has_misses(study(schedule(1, 11, misses=-1))))

    def test_the_schedule_of_few_workers_is_drawn(self):
        one = study(schedule(1, 11))
        self.assertEqual(one.drawn_workers(), 2)
        self.assertEqual(microscope.said_schedule(one), "2 workers, 4 strands, 1 of them stolen")
        one.executions = [row for row in one.executions if row["processors"] != 2]
        self.assertEqual(one.drawn_workers(), 16)
        one.executions = []
        self.assertEqual(one.drawn_workers(), 0)

    def test_words_of_pictures_do_not_touch(self):
        full = study(*(schedule(p, 11 // p + 8, 1.0 / p) for p in (1, 2, 3, 4, 8, 16, 61, 64)))
        bare = study(*(schedule(p, 11, misses=-1) for p in (1, 2)))
        pictures = list(microscope.pictures([full, bare]))
        self.assertEqual([one.name for one in pictures],
                         ["bounds_1", "bounds_2", "schedule_1", "graph_1", "schedule_2", "graph_2"])
        for one in pictures:
            with self.subTest(one.name):
                self.assertEqual(troubles(style.figure_of(one)), [])
                self.assertTrue(one.alt)


if __name__ == "__main__":
    made.main()
