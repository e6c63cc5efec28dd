"""--timeline: begin and end of each phase of the last repetition on every rank."""

import tessera
from tessera import h5py

CASES = {"stencil": ("--shape", "600x600", "--steps", 6, "--halo-steps", 2, "--overlap", "yes"),
         "transpose": ("--n", 500, "--algorithm", "pairwise", "--piece", "64KiB"),
         "matmul": ("--n", 200, "--algorithm", "summa"),
         "sort": ("--n", 20000)}


def table(group):
    return {name: column.asstr()[:] if h5py.check_string_dtype(column.dtype) else column[:]
            for name, column in group.items()}


class Timeline(tessera.Case):
    def test_stays_are_those_whose_seconds_the_phases_add_up(self):
        for workload, words in CASES.items():
            with self.subTest(workload):
                path = self.path(workload + ".h5")
                self.succeed(workload, *words, "--repetitions", 3, "--timeline", "--results", path,
                             ranks=3)
                with h5py.File(path, "r") as file:
                    run = file[workload + "_0001"]
                    stays, phases = table(run["timeline"]), table(run["phases"])
                    self.assertEqual([run["timeline"][c].attrs["units"] for c in ("begin", "end")],
                                     ["s", "s"])
                self.assertIn("in flight", stays["phase"])
                self.assertTrue((0 <= stays["begin"]).all()
                                and (stays["begin"] <= stays["end"]).all())
                last = phases["repetition"] == 2
                for rank in range(3):
                    for name in set(stays["phase"]) - {"in flight"}:
                        mine = (stays["rank"] == rank) & (stays["phase"] == name)
                        noted = phases["seconds"][last & (phases["rank"]
                                                          == rank) & (phases["phase"]
                                                                      == name)].sum()
                        length = (stays["end"] - stays["begin"])[mine].sum()
                        self.assertLess(abs(length - noted), 1e-9 * (1 + mine.sum()))

    def test_without_the_flag_there_is_none(self):
        self.succeed("matmul", "--n", 20, "--results", self.path("r.h5"))
        with h5py.File(self.path("r.h5"), "r") as file:
            self.assertNotIn("timeline", file["matmul_0001"])


if __name__ == "__main__":
    tessera.main()
