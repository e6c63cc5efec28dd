"""analysis_test.py SCRIPTS TESSERA SCRATCH: computations of the report against manually derived
numbers."""
import math
import os
from unittest import mock

import made
from made import np, row, write

made.require("matplotlib")

import gpu_order
import heatmap
import locality
import phases
import rates
import report
import results
import roofline
import series
import style
import tables
import textplot
import timeline


def points_of(path):
    return next(iter(results.by_workload(results.read(path)).values()))


class Roofline(made.Case):
    def test_counts_as_one_does_by_hand(self):
        path = write(self.path("roof.h5"), [row("tiled", 100, 2)])
        point = points_of(path).points[0]
        self.assertEqual(roofline.flops_and_bytes(point, "matmul"), (2e6, 8 * 3e4))
        self.assertEqual([roofline.weights_of(n, d, "")
                          for n, d in (("heat", 2), ("star4", 3), ("laplace", 3), ("box9x9", 2))],
                         [5, 25, 6, 81])
        self.assertIsNone(roofline.weights_of("life", 2, ""))
        self.assertIsNone(roofline.flops_and_bytes(point, "sort"))

    def test_a_step_counts_as_kernels_compute_it(self):
        """Box sums by doubling; the previous level, coefficients, sources and masks with their
        reads."""
        point = points_of(write(self.path("step.h5"), [row("tiled", 100, 2)])).points[0]
        even, cross = "1 1 1; 1 1 1; 1 1 1", "0 1 0; 1 -4 1; 0 1 0"
        for stencil, options, flops, numbers in (
                ("heat", {}, 9, 2), ("wave", {}, 11, 3), ("laplace", {}, 7, 2),
                ("star2", {}, 17, 2),
                ("box3x3", {}, 5, 2), ("box5x5", {}, 7, 2), ("box7x7", {}, 9, 2),
                ("box9x9", {}, 9, 2),
                ("weights", {"weights": cross}, 9, 2), ("weights", {"weights": even}, 5, 2),
                ("weights", {"weights": even, "previous": "-0.5"}, 19, 3),
                ("weights", {"weights": "1 1 1"}, 5, 2),
                ("weights", {"weights": "1 1 / 1 1"}, 7, 2),
                ("weights", {"weights": even.replace("1;", "2;", 1)}, 17, 2),
                ("heat", {"coefficients": "k.h5:/k", "source": "q.h5:/q", "mask": "m.h5:/m"}, 16,
                 5)):
            with self.subTest(stencil, **options):
                point.key = "stencil" + "".join(f" {name}={value}"
                                                for name, value in options.items())
                point.config.update(stencil=stencil, shape="10x20")
                point.measured["work"] = 400.0  # two steps of 200 points
                self.assertEqual(roofline.flops_and_bytes(point, "stencil"),
                                 (400.0 * flops, 400.0 * 8 * numbers))

    def test_where_nothing_was_computed_there_is_no_point(self):
        point = points_of(write(self.path("none.h5"), [row("tiled", 100, 2)])).points[0]
        self.assertIsNotNone(roofline.counted(point, "matmul"))
        for sizes in ({"n": 0, "m": 0, "k": 0}, {"n": 9, "m": 9, "k": 0}):
            point.config.update(sizes)
            point.measured["work"] = 0.0
            self.assertIsNone(roofline.counted(point, "matmul"), sizes)
        point.config.update(stencil="heat", shape="0x20")
        self.assertIsNone(roofline.counted(point, "stencil"))

    def test_weights_in_a_dataset_are_not_known(self):
        point = points_of(write(self.path("unknown.h5"), [row("tiled", 100, 2)])).points[0]
        point.key = "stencil weights=w.h5:/w"
        point.config.update(stencil="weights", shape="10x20")
        self.assertIsNone(roofline.flops_and_bytes(point, "stencil"))

    def test_ceilings_are_taken_as_the_program_takes_them(self):
        run = points_of(write(self.path("tops.h5"), [row("tiled", 100, 2)]))
        peak, stream = roofline.roofs(run, "f64", 2, 1)
        self.assertAlmostEqual(peak, 100 + 240 / 3)    # from 1 to 4 threads linearly
        self.assertEqual(list(stream), ["L1", "L2", "memory"])  # L3 was not measured
        self.assertAlmostEqual(stream["memory"], 10 + 15 / 3)    # copy; triad has 14.67
        self.assertAlmostEqual(stream["L2"], 150 + 450 / 3)
        levels = {"L1": 1200.0, "L2": 600.0, "memory": 25.0}
        self.assertEqual(roofline.roofs(run, "f64", 64, 1), (340.0, levels))
        twice = {level: 2 * rate for level, rate in levels.items()}
        self.assertEqual(roofline.roofs(run, "f64", 8, 2), (680.0, twice))  # two nodes
        self.assertIsNone(roofline.roofs(run, "f32", 2, 1))


class Others(made.Case):
    def test_a_map_holds_every_cell_where_it_belongs(self):
        points = [row("tiled", 64, rate=10.0 * t + w, options={"tile": t, "column-width": w})
                  for t in (8, 16) for w in (4, 32, 256)]
        run = points_of(write(self.path("map.h5"), points[:-1]))
        self.assertEqual(heatmap.axes_of(run.points), ("tile", "column_width"))
        rows, columns, values = heatmap.table_of(run.points, "tile", "column_width")
        self.assertEqual((rows, columns), (["8", "16"], ["4", "32", "256"]))
        np.testing.assert_array_equal(values, [[84, 112, 336], [164, 192, np.nan]])

    def test_shapes_stand_in_a_map_by_their_size(self):
        shapes = ["512x512", "4096x4096", "1024x1024", "16x100000"]
        path = write(self.path("shapes.h5"), [row("tiled", options={"tile": t}) for t in (8, 16)
                                              for _ in shapes])
        with made.h5py.File(path, "r+") as file:
            file["matmul_0001/summary/shape"] = shapes * 2
            file["matmul_0001/summary/point"][...] = [f"{i}" for i in range(8)]
            file["matmul_0001/summary/tile"] = [8] * 4 + [16] * 4
        self.assertEqual(heatmap.table_of(points_of(path).points, "tile", "shape")[1],
                         ["512x512", "1024x1024", "16x100000", "4096x4096"])

    def test_nothing_is_a_number_too(self):
        """0 lets many options choose automatically."""
        path = write(self.path("zero.h5"), [row("tiled", options={"tile": t, "column-width": w})
                                            for t in (16, 0) for w in (8, 0)])
        self.assertEqual(heatmap.table_of(points_of(path).points, "tile", "column_width")[:2],
                         (["0", "16"], ["0", "8"]))

    def test_ranks_and_sizes_alone_make_no_map(self):
        run = points_of(write(self.path("nomap.h5"),
                              [row("tiled", n, r) for n in (64, 128) for r in (1, 2)]))
        self.assertIsNone(heatmap.axes_of(run.points))

    def test_imbalance_is_the_slowest_rank_over_the_mean(self):
        self.assertAlmostEqual(phases.imbalance(np.array([1.0, 1.0, 4.0])), 1.0)
        self.assertEqual(phases.imbalance(np.zeros(3)), 0.0)
        run = points_of(write(self.path("ranks.h5"), [row("tiled", 100, 3, seconds=1.0)]))
        # Made-up phases grow by 10 % per rank; the median of two repetitions with 0.7 and 0.6 is
        # 0.65.
        np.testing.assert_allclose(run.points[0].phases["compute"],
                                   0.65 * np.array([1.0, 1.1, 1.2]))
        self.assertEqual(phases.table(run.points)[1][-2:], ["1.09", "1.09"])
        self.assertEqual([name for name, _, timed in phases.shares(run.points[0]) if not timed],
                         ["verify"])

    def test_what_the_program_chose_tells_no_points_apart(self):
        path = write(self.path("chosen.h5"), [row("tiled", 64, r, options={"halo-steps": 0})
                                              for r in (1, 2)])
        with made.h5py.File(path, "r+") as file:
            file["matmul_0001/summary/halo_steps"] = [32, 8]
        self.assertEqual({p.config["halo_steps"] for p in points_of(path).points}, {"chosen"})

    def test_threads_that_were_asked_for_tell_no_points_apart(self):
        """Uses the threads that ran: 0 requests all available."""
        path = write(self.path("asked.h5"), [row("tiled", 64, options={"threads": asked})
                                             for asked in (0, 1)])
        write(path, [row("tiled", 64, threads=2, options={"threads": 0})], run="matmul_0002")
        self.assertEqual([p.config["threads"] for p in points_of(path).points], [1, 2])
        self.assertEqual(len(points_of(path).points[0].phases["compute"]), 2)

    def test_a_run_that_swept_no_tile_says_its_tile_beside_one_that_did(self):
        path = write(self.path("swept.h5"), [row("tiled", options={"tile": 64})])
        write(path, [row("tiled", options={"tile": t}) for t in (16, 32)], run="matmul_0002")
        # of a program without that option
        write(path, [row("auto", options={"grid": ""})], run="matmul_0003")
        with made.h5py.File(path, "r+") as file:
            file["matmul_0002/summary/tile"] = [16, 32]
        points = points_of(path).points
        self.assertEqual([p.config["tile"] for p in points], [64, 16, 32, ""])
        self.assertEqual([series.label_of(p, ["kernel", "tile"]) for p in points],
                         ["tiled, tile 64", "tiled, tile 16", "tiled, tile 32", "kernel auto"])
        self.assertEqual(series.label_of(points[3], ["tile"]), "without tile")

    def test_a_kernel_has_no_options_that_it_does_not_use(self):
        """The textbook loop has no tile: neither in labels nor in tables, and is one bar and one
        level."""
        tiles = [row(k, options={"tile": t}) for k in ("naive", "tiled") for t in (16, 32)]
        path = write(self.path("uses.h5"), tiles + [row("auto", options={"tile": 16})],
                     users_tile="kernel=tiled,recursive")
        run = points_of(path)
        labels = [series.label_of(p, ["kernel", "tile"]) for p in run.points]
        self.assertEqual(labels, ["naive", "tiled, tile 16", "tiled, tile 32",
                                  "kernel auto, tile 16"])
        self.assertEqual([p.config["tile"] for p in results.read(path)[0].points
                          if "tile" in p.config], [])
        rows = tables.side_by_side(run.points)
        self.assertEqual([line[0] for line in rows], ["tile", "16", "32"])
        self.assertNotIn("-", rows[2][1])
        (bars,) = rates.variants(run)
        self.assertIn("m = n = k = 64", bars.title)
        (lines,) = rates.lines(points_of(write(self.path("by.h5"), tiles,
                                               users_tile="kernel=tiled")))
        self.assertIn("by tile", lines.title)
        self.assertRegex(lines.alt, r"tiled .* at 16 to .* at 32")
        self.assertIn("naive", lines.alt)  # at every tile

    def test_variants_are_compared_with_the_first_of_the_same_problem(self):
        points = [results.Point("", {"kernel": kernel, "stencil": stencil}, {"rate": 1.0}, {}, ())
                  for stencil in ("box3x3", "box9x9") for kernel in ("naive", "tiled", "column")]
        self.assertEqual([None if one is None else points.index(one)
                          for one in rates.references(points)], [None, 0, 0, None, 3, 3])

    def test_probes_of_memory_are_compared_with_those_without_the_remedy(self):
        names = ("cold", "cold_prefetched", "conflict", "conflict_padded")
        path = write(self.path("probes.h5"), [row("cpu", options={"probe": name}, rate=rate)
                                              for name, rate in zip(names, (1, 3, 10, 40))],
                     run="memory_0001")
        points = points_of(path).points
        notes = [line[-1] for line in rates.bar_rows(points, ["probe"])]
        self.assertEqual(notes, ["", "3x", "", "4x"])

    def test_bars_begin_at_zero(self):
        path = write(self.path("bars.h5"), [row(k, seconds=s) for k, s in (("naive", 9.0),
                                                                         ("tiled", 1e-3))])
        (one,) = rates.variants(points_of(path))
        axes = style.figure_of(one).axes[0]
        self.assertEqual((axes.get_xscale(), axes.get_xlim()[0]), ("linear", 0))
        self.assertRegex(one.alt, r"naive .* GFLOP/s; tiled .* GFLOP/s")

    def test_logarithmic_axes_have_several_numbers(self):
        for low, high, expected in ((1, 1e6, [1, 10, 100, 1e3, 1e4, 1e5, 1e6]),
                                    (4e3, 3e4, [5e3, 1e4, 2e4]), (0.7, 9, [1, 2, 5]),
                                    (11, 19, [12, 14, 16, 18]), (1e-9, 1e9, None)):
            ticks = style.log_ticks(low, high)
            self.assertTrue(3 <= len(ticks) <= 7 and low <= ticks[0] and ticks[-1] <= high, ticks)
            if expected:
                self.assertEqual(ticks, expected)

    def test_a_timeline_says_how_much_of_the_flight_is_hidden(self):
        # In flight from 1 to 5 and from 4 to 9, eight seconds in all; computes from 2 to 4 and
        # unpacks from 8 to 10: three of them overlap.
        stays = {0: [("exchange", 0, 1), ("compute", 2, 4), (timeline.FLIGHT, 1, 5),
                     (timeline.FLIGHT, 4, 9), ("unpack", 8, 10)]}
        self.assertAlmostEqual(timeline.hidden(stays), 3 / 8)
        self.assertIsNone(timeline.hidden({0: [("compute", 0, 1)]}))
        self.assertEqual(timeline.window(stays), 10)
        many = {0: [("compute", t, t + 1) for t in range(500)]}
        self.assertEqual(timeline.window(many), timeline.MOST_STAYS)
        lanes = timeline.text(stays, width=11).splitlines()
        self.assertEqual(lanes[0], "  rank 0  |EECCC   UUU|")
        self.assertEqual(lanes[1].rstrip(), "           =========")

    def test_sizes_in_words_are_numbers(self):
        self.assertEqual([series.numeric(v) for v in ("16KiB", "2MB", "512", 7, "1.5G", "naive",
                                                      "")],
                         [16384.0, 2e6, 512.0, 7.0, 1.5 * 2 ** 30, None, None])

    def test_sizes_have_their_unit_where_they_tell_points_apart(self):
        self.assertEqual([series.word(*pair) for pair in (("size", 65536), ("stride", 64),
                                                          ("stride", 1536), ("piece", 3 << 30))],
                         ["size 64 KiB", "stride 64 B", "stride 1.5 KiB", "piece 3 GiB"])
        self.assertEqual([series.word(*pair) for pair in (("tile", 64), ("size", "64KiB"))],
                         ["tile 64", "size 64KiB"])

    def test_text_beside_the_name_of_a_page_is_refused(self):
        path = write(self.path("text.h5"), [row()])
        for name in ("--html", "--png"):
            self.assert_refused(self.run_script(report, path, "--text", name, "x", code=64), name,
                                "--text")

    def test_misses_that_were_counted_or_simulated_stand_in_a_table(self):
        path = write(self.path("misses.h5"), [row("naive"), row("tiled")])
        naive, tiled = (made.key_of("matmul", row(kernel)) for kernel in ("naive", "tiled"))
        with made.h5py.File(path, "a") as file:
            made.put(file["matmul_0001"], "counters",
                     {"row": range(4), "point": [naive] * 3 + [tiled], "repetition": [0, 1, 2, -1],
                                                       "source": ["hardware"] * 3 + ["none"],
                      "cycles": [10.0, 30.0, 20.0, math.nan],
                                                       "l1_misses": [5.0, 6.0, 7.0, math.nan],
                      "llc_misses": [math.nan] * 4,
                                                       "what": [""] * 3 + ["tiled is not traced"]})
        text = self.run_script(report, path, "--text")
        table = text[text.index("matmul: counted or simulated events, median of the repetitions"
                                ):].splitlines()[1:5]
        self.assertEqual([line.split() for line in table if "--" not in line],
                         [["kernel", "source", "cycles", "L1", "misses", "what"],
                          ["naive", "hardware", "20", "6", "-"],
                          ["tiled", "none", "-", "-", "tiled", "is", "not", "traced"]])
        run = next(iter(results.by_workload(results.read(path)).values()))
        self.assertEqual(report.tables.misses(run.points, {}), [])

    def test_plots_in_characters_put_marks_where_values_are(self):
        lines = textplot.lines({"a": ([1, 2, 4], [1.0, 2.0, 4.0])}, "x", "y", log_y=True, width=21,
                               height=9).splitlines()
        self.assertEqual([line.index("o") - line.index("|") for line in lines[1:10] if "o" in line],
                         [21, 11, 1])
        bars = textplot.bars([("one", 10.0, 9.0, 11.0, ""), ("two", 5.0, 5.0, 5.0, "")], "GB/s",
                             width=22).splitlines()
        self.assertEqual([bar.count("#") + bar.count("[") + bar.count("]") for bar in bars],
                         [21, 10])
        heat = textplot.heat(["r"], ["1", "2"], np.array([[1.0, np.nan]]), "row", "column", "GB/s")
        self.assertRegex(heat.splitlines()[-1], r"r +\| +1 +-$")


def traced(path, options, run="locality_0001", table="points", **more):
    """Appends a run with a traced (gpu: simulated) point for each of these option texts."""
    keys = [f"locality workload=sort kernel=std {one}" for one in options]
    columns = {"point": keys, "workload": ["sort"] * len(keys), "kernel": ["std"] * len(keys)}
    columns |= {name: [8] * len(keys) for name in ("m", "n", "k", "tile", "column_width",
                                                   "element_bytes", "line_bytes", "block")}
    columns |= {"pad": [0] * len(keys), "stencil": [""] * len(keys)
                } | {name: [value] * len(keys) for name, value in more.items()}
    with made.h5py.File(path, "a") as file:
        group = file.create_group(run)
        made.put(group, table, columns)
        if table == "points":
            made.put(group, "curves", {"point": keys * 2, "array": ["all"] * 2 * len(keys),
                                       "bytes": [64] * len(keys) + [128] * len(keys),
                                       "misses": [9.0, 3.0] * len(keys),
                                       "theorem": [math.nan] * 2 * len(keys)})
    return path


LOOKED = {"loads": 1, "stores": 1, "compulsory": 3.0, "theorem": "", "constant": math.nan}
SECTORS = {"array": "all", "requests": 8, "l1_hit_rate": 0.75, "fetches": 2, "l2_hit_rate": 0.0,
           "predicted_fetches": -1.0}


class Locality(made.Case):
    def test_points_are_told_apart_by_what_was_asked_for(self):
        path = traced(self.path("t.h5"), ["type=u32 line=64 steps=1", "type=u64 line=64 steps=1",
                                          "type=u64 line=32 steps=1"])
        points = locality.disambiguate(locality.read(path))
        self.assertEqual([p.label for p in points],
                         [f"sort std n 8, type {t}, line {b}"
                          for t, b in (("u32", 64), ("u64", 64), ("u64", 32))])
        self.assertEqual(locality.disambiguate(locality.read(traced(self.path("one.h5"),
                                                                  ["type=u32"])))[0].label,
                         "sort std n 8")
        probe = {"workload": "forkjoin", "kernel": "quicksort", "m": 8, "n": 9, "k": 9, "tile": 4,
                 "column_width": 0}
        self.assertEqual(locality.label_of(probe), "forkjoin quicksort n 9")

    def test_tables_fit_the_terminal(self):
        """In several tables below each other, each with the first columns; empty columns go."""
        rows = [["kernel", "n", "empty"] + [f"column {c}" for c in range(9)]]
        rows += [[kernel, "8", "-"] + ["0.25 ms"] * 9 for kernel in ("naive", "tiled")]
        with mock.patch.dict(os.environ, {"COLUMNS": "40"}):
            blocks = report.tables.fitted(rows, 2).split("\n\n")
        self.assertEqual(len(blocks), 3)
        for block in blocks:
            self.assertLessEqual(max(map(len, block.splitlines())), 40, block)
            self.assertTrue(block.splitlines()[2].startswith("naive   8"), block)
        self.assertEqual(sum(block.count("column") for block in blocks), 9)
        self.assertNotIn("empty", "".join(blocks))

    def test_columns_of_a_part_do_not_depend_on_measured_digits(self):
        """A time of 1 ms takes as much room as one of 99.9 us."""
        parts = []
        for time in ("1 ms", "1.2 ms", "99.9 us", "356 ns"):
            rows = [["kernel", "n"] + [f"t{c}" for c in range(9)]] + [["naive", "8"] + [time] * 9]
            with mock.patch.dict(os.environ, {"COLUMNS": "40"}):
                parts.append([block.split("\n")[0].split()
                              for block in report.tables.fitted(rows, 2).split("\n\n")])
        self.assertEqual(parts, parts[:1] * 4)

    def test_times_change_their_unit_where_they_are_rounded(self):
        for value, text in ((0.0009996, "1 ms"), (0.9994, "999 ms"), (1234.4, "1234 s"),
                            (9.99e-10, "0.999 ns"), (0, "0 s")):
            self.assertEqual(report.tables.seconds(value), text)

    def test_theorems_stand_at_the_left(self):
        path = traced(self.path("t.h5"), ["type=u32"], **{**LOOKED, "theorem": "2mn/L if Z >= n"})
        self.assertIn("misses  theorem ", report.tables.grid(locality.table(locality.read(path))))

    def test_curves_go_on_to_the_largest_cache_of_their_picture(self):
        """Beyond that size the misses are constant; a curve that ends earlier does not show it."""
        import matplotlib.pyplot as plt
        path = traced(self.path("t.h5"), ["type=u32", "type=u64"], **LOOKED)
        with made.h5py.File(path, "r+") as file:
            sizes = file["locality_0001/curves/bytes"][()]
            sizes[-1] = 4096  # of the second curve
            file["locality_0001/curves/bytes"][...] = sizes
        axes = plt.figure().subplots()
        locality.draw_curves(axes, locality.read(path))
        ends = [(line.get_xdata()[-1], line.get_ydata()[-1])
                for line in axes.get_lines() if len(line.get_xdata()) > 1]
        self.assertEqual(ends, [(4096, 9.0), (4096, 3.0)])
        self.assertEqual(axes.get_ylabel(), "misses (lines of 8 B)")

    def test_of_a_point_in_several_files_the_last_counts(self):
        paths = [traced(self.path(name), ["type=u32"], **{**LOOKED, "loads": loads})
                 for name, loads in (("a.h5", 10), ("b.h5", 20))]
        text = self.run_script(report, *paths, "--text")
        self.assertRegex(text, r"sort std n 8 +21 ")
        self.assertNotIn(" 11 ", text)

    def test_simulated_points_of_a_gpu_are_reported(self):
        path = traced(self.path("g.h5"), ["type=f32"], table="gpu", **SECTORS)
        text = self.run_script(report, path, "--text")
        self.assertRegex(text, r"sort std n 8, blocks of 8 +all +8 +75.0 % +2 +0.0 %\n")
        self.assertIn("2 sectors  L1 hits 75.0 %", text)
        # once more: the latest
        traced(path, ["type=f32"], run="locality_0002", table="gpu", **{**SECTORS, "fetches": 7})
        self.assertEqual([p.rows["all"]["fetches"] for p in gpu_order.read(path)], [7])

    def test_a_diagram_has_no_more_cells_than_dots_and_loses_no_touch(self):
        line = np.arange(3000)
        point = locality.Traced("k", {"workload": "sort", "kernel": "std", "n": 8, "pad": 0,
                                      "line_bytes": 64},
                                {"density": {"point": np.array(["k"] * 3000),
                                             "time": 512 * (line % 1000), "line": line,
                                             "time_step": line * 0 + 512,
                                             "line_step": line * 0 + 1,
                                             "array": np.array(["a"] * 3000),
                                             "touches": line * 0 + 2,
                                             "fetched": line * 0 + 1}}, {}, "")
        touches, fetched, step, lines = locality.cells_of(point, {"a": (0, 3000, 0)}, 3250)
        self.assertEqual((touches.sum(), fetched.sum()), (6000, 3000))
        self.assertTrue(all(found <= most for found,
                            most in zip(touches.shape, locality.MOST_CELLS)), touches.shape)
        self.assertEqual((touches.shape[0], touches.shape[1]),
                         (-(-3250 // lines), -(-512000 // step)))
        self.assertEqual(touches[2999 // lines, 512 * 999 // step] > 0, True)


if __name__ == "__main__":
    made.main()
