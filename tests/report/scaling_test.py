"""scaling_test.py SCRIPTS TESSERA SCRATCH: series of strong and weak scaling, their fits and their
pictures. Exits with 77 without matplotlib."""
import math

import made
from made import np, row, write

made.require("matplotlib.figure")
import matplotlib.figure

import results
import scaling
import style


def points_of(path):
    return next(iter(results.by_workload(results.read(path)).values()))


class Scaling(made.Case):
    def test_amdahl_finds_the_exact_fraction(self):
        for serial in (0.0, 0.01, 0.125, 0.5, 1.0):
            for cores in ((1, 2), (1, 2, 4, 8), (2, 3, 5, 16, 128)):
                with self.subTest(serial=serial, cores=cores):
                    p = np.array(cores, dtype=float)
                    fit = scaling.amdahl(p, 7.25 * (serial + (1 - serial) / p))
                    self.assertAlmostEqual(fit.serial, serial, 12)
                    if len(cores) > 2:
                        self.assertLess(fit.error, 1e-12)
                    else:
                        self.assertTrue(math.isnan(fit.error))

    def test_amdahl_stays_between_nothing_and_all(self):
        p = np.array([1.0, 2.0, 4.0])
        # faster than ideal
        self.assertEqual(scaling.amdahl(p, np.array([1.0, 0.4, 0.15])).serial, 0.0)
        # slower on more cores
        self.assertEqual(scaling.amdahl(p, np.array([1.0, 1.5, 2.0])).serial, 1.0)

    def test_amdahl_error_is_that_of_the_noise(self):
        rng, p = np.random.default_rng(1), np.array([1.0, 2, 4, 8, 16, 32])
        fits = [scaling.amdahl(p, (0.1 + 0.9 / p) * rng.normal(1, 0.02, 6)) for _ in range(400)]
        spread = np.std([fit.serial for fit in fits])
        self.assertLess(abs(np.mean([fit.serial for fit in fits]) - 0.1), 3 * spread / 20)
        self.assertLess(abs(np.mean([fit.error for fit in fits]) / spread - 1), 0.15)

    def test_gustafson_finds_the_exact_fraction(self):
        for serial in (0.0, 0.03, 0.5, 1.0):
            p = np.array([1.0, 2, 4, 8, 64])
            fit = scaling.gustafson(p, p - serial * (p - 1))
            self.assertAlmostEqual(fit.serial, serial, 12)
            self.assertLess(fit.error, 1e-12)
        self.assertIsNone(scaling.gustafson(np.array([1.0]), np.array([1.0])))

    def test_strong_series_come_from_points_of_one_problem(self):
        # T1 = 1 s, 10 % of it serial; a second problem on a single number of ranks makes no series.
        path = write(self.path("strong.h5"), [row("tiled", 64, r, seconds=0.1 + 0.9 / r)
                                              for r in (1, 2, 4, 8)]
                     + [row("tiled", 32, 2)])
        run = points_of(path)
        (one,) = scaling.strong(run.points)
        self.assertEqual(list(one.cores), [1, 2, 4, 8])
        np.testing.assert_allclose(one.speedup, [1, 1 / 0.55, 1 / 0.325, 1 / 0.2125])
        self.assertAlmostEqual(scaling.fit_of(one, "strong").serial, 0.1, 12)
        self.assertEqual(scaling.weak(run.points), [])
        rows = scaling.table(run)
        self.assertEqual(rows[4][3:7], ["8", "213 ms", "4.71", "59 %"])
        self.assertEqual(rows[1][7], "serial 10 +- 0 %")

    def test_no_speed_up_is_outside_of_the_picture(self):
        for seconds in ((1, 300), (1, 0.2)):  # beyond any gain, and a caching effect
            path = write(self.path("far.h5"), [row("tiled", 64, r, seconds=s)
                                               for r, s in zip((1, 2), seconds)])
            found = scaling.strong(points_of(path).points)
            panels = matplotlib.figure.Figure().subplots(2)
            scaling.draw(panels, found, [None], "strong")
            axes = panels[0]
            low, high = axes.get_ylim()
            self.assertTrue(all(low < s < high for s in found[0].speedup),
                            (low, found[0].speedup, high))
            self.assertLess(max(len(axes.yaxis.get_major_formatter()(y))
                                for y in axes.get_yticks()), 9)

    def test_threads_scale_as_ranks_do_and_the_two_are_not_mixed(self):
        points = [row("tiled", 64, 1, t, seconds=1.0 / t) for t in (1, 2, 4)]
        path = write(self.path("threads.h5"), points
                     + [row("tiled", 64, 4, 2, seconds=0.2), row("tiled", 64, 2, 2, seconds=0.3)])
        found = scaling.strong(points_of(path).points)
        # ranks 1, 2, 4 with 2 threads each
        self.assertEqual([list(one.cores) for one in found], [[2, 4, 8]])
        self.assertEqual(scaling.strong(points_of(write(self.path("t.h5"),
                                                        points)).points)[0].cores.tolist(),
                         [1, 2, 4])

    def test_weak_series_have_as_much_work_on_every_core(self):
        # Three times as long on 4 ranks: the scaled speed-up is 4 / 3.
        path = write(self.path("weak.h5"), [row("tiled", 64 * r, r, seconds=s, work=1e6 * r)
                                            for r, s in ((1, 1.0), (2, 1.5), (4, 3.0))])
        run = points_of(path)
        (one,) = scaling.weak(run.points)
        np.testing.assert_allclose(one.speedup, [1, 2 / 1.5, 4 / 3])
        fit = scaling.fit_of(one, "weak")
        x, y = np.array([0, 0.5, 0.75]), np.array([0, (2 - 4 / 3) / 2, (4 - 4 / 3) / 4])
        self.assertAlmostEqual(fit.serial, x @ y / (x @ x), 12)
        self.assertEqual(scaling.strong(run.points), [])

    def test_more_threads_than_cpus_stay_out_of_the_fit(self):
        path = write(self.path("crowded.h5"), [row("tiled", 64, r, seconds=s)
                                               for r, s in ((1, 1.0), (2, 0.6), (4, 0.4),
                                                            (8, 5.0))], cpus="0-3")
        (one,) = scaling.strong(points_of(path).points)
        self.assertEqual(one.fits.tolist(), [True, True, True, False])
        self.assertAlmostEqual(scaling.fit_of(one, "strong").serial, 0.2, 12)

    def test_no_law_is_fitted_to_one_or_two_points(self):
        """Two points determine both parameters of a law, whatever they are."""
        for kind, more in (("strong", {}), ("weak", {"work": 1e6})):
            points = [row("tiled", 64 * (r if more else 1), r, seconds=1.0,
                          **{name: r * value for name, value in more.items()}) for r in (1, 2)]
            run = points_of(write(self.path(f"two_{kind}.h5"), points))
            (one,) = getattr(scaling, kind)(run.points)
            self.assertIsNone(scaling.fit_of(one, kind))
            self.assertEqual([line[-1] for line in scaling.table(run)[1:]], ["-", "-"])
            (drawn,) = scaling.pictures(run)
            self.assertIn("No law is fitted to fewer than 3 points", drawn.caption)
            self.assertNotIn("Dashed", drawn.caption)
            labels = [text.get_text() for axes in style.figure_of(drawn).axes if axes.get_legend()
                      for text in axes.get_legend().get_texts()]
            self.assertEqual(labels, ["ideal", "measured"])

    def test_titles_have_the_size_and_panels_the_efficiency(self):
        run = points_of(write(self.path("eff.h5"), [row("tiled", 64, r, seconds=0.1 + 0.9 / r)
                                                    for r in (1, 2, 4)]))
        (drawn,) = scaling.pictures(run)
        self.assertEqual(drawn.title,
                         "matmul, strong scaling: m = n = k = 64, tiled, f64")
        above, below = style.figure_of(drawn).axes
        self.assertEqual(above.get_ylabel(), "speed-up")
        self.assertEqual(below.get_ylabel(), "efficiency (%)")
        self.assertEqual(below.get_yscale(), "linear")
        marks = [line.get_ydata() for line in below.lines if line.get_marker() == "o"]
        np.testing.assert_allclose(marks[0], [100, 100 / 1.1, 100 / 1.3])
        for axis in (below.xaxis, above.yaxis):  # the ideal line leads from tick to tick
            self.assertEqual([label.get_text() for label in axis.get_ticklabels()],
                             ["1", "2", "4"])
        run = points_of(write(self.path("grow.h5"), [row("tiled", 64 * r, r, work=1e6 * r)
                                                     for r in (1, 2)]))
        self.assertIn("m = n = k = 64 on 1 core to m = n = k = 128 on 2 cores",
                      next(iter(scaling.pictures(run))).title)

    def test_whiskers_of_the_efficiency_are_inside(self):
        path = write(self.path("wide.h5"), [row("tiled", 64, 1, seconds=1.0, low=0.9, high=1.4),
                                            row("tiled", 64, 2, seconds=0.5, low=0.3, high=0.6)])
        _, below = style.figure_of(next(scaling.pictures(points_of(path)))).axes
        self.assertGreater(below.get_ylim()[1], 100 * 1.0 / 0.3 / 2)


if __name__ == "__main__":
    made.main()
