"""pictures_test.py SCRIPTS TESSERA SCRATCH: titles, labels and marks of the pictures of timings.
Exits with 77 without matplotlib."""
import made
from made import h5py, np, row, write

made.require("matplotlib.image")
import matplotlib.colors

import heatmap
import phases
import rates
import results
import roofline
import series
import style
import timeline

TWO = [row(k, n) for n in (64, 128) for k in ("naive", "tiled")]


def run_of(path):
    return next(iter(results.by_workload(results.read(path)).values()))


class Pictures(made.Case):
    def test_titles_break_at_commas_and_ticks_are_alike(self):
        self.assertEqual(style.wrapped("matmul by m = n = k: algorithm recursive, f64, 1 rank, "
                                       "2 threads").split("\n"),
                         ["matmul by m = n = k: algorithm recursive, f64,", "1 rank, 2 threads"])
        self.assertEqual(max(map(len, style.wrapped("word " * 40).split("\n"))), 49)
        self.assertEqual(style.plain_all([300, 1000, 3000, 10000]), ["300", "1k", "3k", "10k"])
        self.assertEqual(style.plain_all([300, 1000, 3000]), ["300", "1000", "3000"])

    def test_points_of_a_roofline_do_not_cover_each_other(self):
        points = [(0.5, 1.0), (0.5, 1.0), (0.5, 1.02), (0.5, 0.99), (2.0, 30.0), (0.51, 1.0)]
        spans = ((0.1, 10.0), (0.1, 100.0))
        moved = roofline.side_by_side(points, spans)
        self.assertEqual(moved[4], 0)  # alone
        places = [tuple(length * np.log(v / low) / np.log(high / low) + dx
                        for v, (low, high), length, dx in zip(point, spans, roofline.PLOT, (by, 0)))
                  for point, by in zip(points, moved)]
        for i, (x, y) in enumerate(places):
            for other_x, other_y in places[:i]:
                self.assertGreater(max(abs(x - other_x), abs(y - other_y)), 6)
        self.assertLessEqual(max(map(abs, moved)), 3 * roofline.MARKER)

    def test_points_of_a_gpu_have_a_roofline_of_their_own(self):
        path = write(self.path("gpu.h5"), [row("cuda_naive", 1000, ranks=1, seconds=1.0),
                                           row("cuda_tiled", 1000, ranks=1, seconds=1.0),
                                           row("cuda_tiled", 1000, ranks=2, seconds=1.0)])
        with h5py.File(path, "a") as file:
            group = file["matmul_0001"]
            group["summary/kernels"] = [0.01, 0.002, 0.001]  # the last is not of one GPU
            del group["machine"]
            made.put(group, "machine", {
                "name": ["gpu_copy", "gpu_read", "gpu_fma_f64", "gpu_mma_f64", "copy"],
                "threads": [1] * 5, "value": [4000.0, 4200.0, 30000.0, 60000.0, 10.0],
                "units": ["GB/s", "GB/s", "GFLOP/s", "GFLOP/s", "GB/s"]})
        drawn, = roofline.pictures(run_of(path))
        self.assertEqual(drawn.name, "roofline_gpu_f64")
        self.assertIn("without transfers", drawn.caption)
        axes = style.figure_of(drawn).axes[0]
        rates = sorted(float(y) for line in axes.lines if line.get_linestyle() == "None"
                       for y in line.get_ydata())
        np.testing.assert_allclose(rates, [200.0, 1000.0])
        self.assertIn("60000 GFLOP/s", [text.get_text() for text in axes.texts])
        self.assertIn("memory 4.2e+03 GB/s", [text.get_text()
                                              for text in axes.get_legend().get_texts()])

    def test_points_that_failed_their_check_are_marked(self):
        points = [dict(p) for p in TWO]
        points[-1]["verified"] = 0  # tiled, 128
        run = run_of(write(self.path("marked.h5"), points))
        bars = style.figure_of(next(rates.variants(run))).axes[0]
        self.assertEqual([("FAILED" in text.get_text(), text.get_color() == style.WRONG)
                          for text in bars.texts], [(False, False), (True, True)])
        lines = style.figure_of(next(rates.lines(run))).axes[0]
        cross, = (line for line in lines.lines if line.get_label() == "check FAILED")
        np.testing.assert_allclose(cross.get_xdata(), [128])
        good = run_of(write(self.path("unmarked.h5"), TWO))
        self.assertNotIn("check FAILED", [line.get_label() for line in style.figure_of(
            next(rates.lines(good))).axes[0].lines])

    def test_streams_of_a_gpu_have_a_lane_each(self):
        path = write(self.path("streams.h5"), TWO)
        with h5py.File(path, "a") as file:
            group = file[next(iter(file))]
            made.put(group, "device_timeline", {
                "point": [group["summary/point"][0]] * 7, "piece": [0, 0, 0, 1, 1, 1, 0],
                "what": ["to device", "kernel", "from device"] * 2 + ["host"],
                "stream": [0, 0, 0, 1, 1, 1, -1],
                "begin": [0.0, 0.1, 0.2, 0.1, 0.2, 0.3, 0.0],
                "end": [0.1, 0.2, 0.3, 0.2, 0.3, 0.4, 0.25]})
        drawn, = timeline.pictures(run_of(path))
        axes = style.figure_of(drawn).axes[0]
        self.assertEqual([text.get_text() for text in axes.get_yticklabels()], ["host", "0", "1"])
        self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()],
                         ["host", "to device", "kernel", "from device"])
        self.assertIn("2 streams: to device 25 %", drawn.alt)
        self.assertIn("The host computes 250 ms of it.", drawn.alt)
        lanes = drawn.text().splitlines()
        self.assertTrue(lanes[0].startswith("  host      |"), lanes)
        self.assertTrue(lanes[1].startswith("  stream 0  |"), lanes)
        self.assertEqual(lanes[1].index("|"), lanes[3].index("0"))
        self.assertNotIn("flight", drawn.text())

    def test_whiskers_of_rates_are_inside(self):
        run = run_of(write(self.path("whiskers.h5"), [
            row("naive", 64, seconds=1e-3, low=1e-3, high=5e-3), row("naive", 128, seconds=1e-3),
            row("tiled", 64, seconds=1e-5), row("tiled", 128, seconds=1e-5)]))
        axes = style.figure_of(next(rates.lines(run))).axes[0]
        self.assertEqual(axes.get_yscale(), "log")
        self.assertLess(axes.get_ylim()[0], run.points[0].rate_interval[0])

    def test_cells_of_maps_are_read_on_their_colours(self):
        def luminance(colour):
            linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4
                      for v in colour[:3]]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        for value in np.linspace(0, 1, 256):
            cell = style.matplotlib.colormaps["cividis"](value)
            both = sorted(luminance(c) for c in (cell, matplotlib.colors.to_rgb(
                heatmap.contrast(cell))))
            self.assertGreater((both[1] + 0.05) / (both[0] + 0.05), 4.5, value)

    def test_maps_of_bytes_have_their_units_at_the_ticks(self):
        path = write(self.path("bytes.h5"), [row("one", options={"stride": st, "rounds": r})
                                             for st in (512, 65536) for r in (1, 2)],
                     run="memory_0001")
        with h5py.File(path, "r+") as file:
            file["memory_0001/summary/stride"] = [512, 512, 65536, 65536]
            file["memory_0001/summary/rounds"] = [1, 2, 1, 2]
            del file["memory_0001/summary/kernel"]
            file["memory_0001/summary/probe"] = ["conflict"] * 4
        axes = style.figure_of(next(heatmap.maps(run_of(path)))).axes[0]
        ticks = [[label.get_text() for label in axis.get_ticklabels()]
                 for axis in (axes.xaxis, axes.yaxis)]
        self.assertIn(["512 B", "64 KiB"], ticks)
        self.assertIn("stride", (axes.get_xlabel(), axes.get_ylabel()))

    def test_phases_have_a_bar_for_each_number_of_ranks(self):
        run = run_of(write(self.path("ranks.h5"), [row("tiled", 64, r) for r in (1, 2, 4)]))
        drawn, = phases.by_variant(run)
        axes = style.figure_of(drawn).axes[0]
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()],
                         ["1 rank", "2 ranks", "4 ranks"])
        run = run_of(write(self.path("weak.h5"), [row("tiled", 64 * r, r) for r in (1, 2, 4)]))
        axes = style.figure_of(next(phases.by_variant(run))).axes[0]
        self.assertEqual([label.get_text() for label in axes.get_yticklabels()],
                         [f"m = n = k = {64 * r}, {r} rank{'s' * (r > 1)}" for r in (1, 2, 4)])
        alone, = phases.by_variant(run_of(write(self.path("alone.h5"), [row()])))
        bottom, top = style.figure_of(alone).axes[0].get_ylim()
        self.assertEqual((bottom, top), (1.5, -1.5))  # of three bars

    def test_variants_without_the_option_are_a_level(self):
        """naive ignores the width of columns: a line across, whose label is in the legend."""
        def points(*kernels):
            return [row(k, 64, rate=r * w, options={"column-width": w}) for k, r in kernels
                    for w in (4, 8, 16)]
        naive = row("naive", 64, rate=20.0)
        for number, kernels in enumerate(((("column", 1.0),), (("column", 1.0), ("zigzag", 0.5)))):
            run = run_of(write(self.path(f"levels_{number}.h5"), [naive, *points(*kernels)]))
            drawn, = rates.lines(run)
            axes = style.figure_of(drawn).axes[0]
            level, = (line for line in axes.lines if set(line.get_ydata()) == {20.0})
            self.assertEqual(level.get_label(), "naive")
            self.assertGreater(axes.get_ylim()[1], 20)
            self.assertEqual([text.get_text() for text in axes.get_legend().get_texts()],
                             ["naive", *(name for name, _ in kernels)])
            self.assertIn("naive", drawn.text())
        run = run_of(write(self.path("no_level.h5"), points(("column", 1.0))))
        axis = series.choose_axis(run.points, "matmul")
        self.assertEqual(rates.levels_of(run.points, axis, []), {})

    def test_titles_name_the_probe_and_the_stencil(self):
        for name, run, options in (("probe", "memory_0001", "stride"),
                                   ("stencil", "stencil_0001", "tile")):
            path = write(self.path(f"{name}.h5"), [row("one", options={options: v})
                                                   for v in (8, 16, 32)], run=run)
            with h5py.File(path, "r+") as file:
                file[f"{run}/summary/{name}"] = ["which_one"] * 3
            for one in (*rates.lines(run_of(path)), *rates.variants(run_of(path))):
                self.assertIn("which_one", one.title)
        points = [row("tiled", 64, rate=1.0, options={"tile": t, "column-width": w})
                  for t in (8, 16) for w in (4, 32)]
        path = write(self.path("named_map.h5"), points, run="stencil_0001")
        with h5py.File(path, "r+") as file:
            file["stencil_0001/summary/stencil"] = ["which_one"] * 4
        self.assertEqual([one.title for one in heatmap.maps(run_of(path))],
                         ["stencil by tile and column width: m = n = k = 64, tiled, which_one, "
                          "f64, 2 ranks, 1 thread"])


if __name__ == "__main__":
    made.main()
