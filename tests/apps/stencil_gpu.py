"""Device-resident fields: bits equal to the CPU's for all ranks, transports and concurrent outputs.
"""

import itertools
import os
import re
import shutil
import subprocess

import h5py
import numpy as np

import tessera

FIELDS = {  # stencil, shape, boundary, steps
    "heat": ("350x331", "y=periodic", 41),
    "wave": ("60x56x55", "z-=reflect,z+=clamp,x=periodic", 19),
    "box5x5": ("283x170", "y=periodic,x-=mirror,x+=constant:0.5", 20),
}
KINDS = ("f16", "f32", "f64")
WAYS = ("auto", "staged", "host")


def devices():
    if not shutil.which("nvidia-smi"):
        return 0
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    return sum(line.startswith("GPU ") for line in listed.stdout.splitlines())


class OnGpus(tessera.Case):
    def setUp(self):
        super().setUp()
        if devices() == 0:
            self.skipTest("no GPU is here")

    def words(self, name, kind):
        shape, boundary, steps = FIELDS[name]
        return ("stencil", "--stencil", name, "--shape", shape, "--boundary", boundary, "--steps",
                steps, "--type", kind)

    def hash_of(self, *words, **how):
        result = self.succeed(*words, timeout=120, **how)
        return re.search(r" ([0-9a-f]{16}(?:,[0-9a-f]{16})*) ", result.out).group(1), result

    def test_every_way_has_the_bits_of_the_cpu(self):
        want = {(name, kind): self.hash_of(*self.words(name, kind), "--device", "cpu")[0]
                for name in FIELDS for kind in KINDS}
        methods = itertools.cycle(itertools.product(KINDS, ((0, "auto"), (3, "no"))))
        for name, way, ranks in itertools.product(FIELDS, WAYS, (0, 1, 2, 3)):
            kind, (halo, overlap) = next(methods)
            if ranks == 3:
                next(methods)  # varies the method per number of ranks
            with self.subTest(name, kind=kind, ranks=ranks, way=way, halo=halo):
                got, result = self.hash_of(*self.words(name, kind), "--device", "gpu",
                                           "--gpu-exchange", way, "--halo-steps", halo,
                                           "--overlap", overlap, "--repetitions", 2, ranks=ranks)
                self.assertEqual(got, want[name, kind], str(result))
                self.assertEqual("gpu_" in result.out, way != "host", str(result))

    def test_fields_larger_than_the_gpus_go_through_them_in_slabs(self):
        fields = {"heat": ("1201x700", "y=periodic", 41),
                  "wave": ("300x56x55", "z-=reflect,z+=clamp,x=periodic", 19),
                  "box5x5": ("1500x300", "x-=mirror,x+=constant:0.5", 20)}
        methods = itertools.cycle(itertools.product(KINDS, (0, 4)))
        for name, (shape, boundary, steps) in fields.items():
            words = ("stencil", "--stencil", name, "--shape", shape, "--boundary", boundary,
                     "--steps", steps)
            want = {kind: self.hash_of(*words, "--type", kind, "--device", "cpu")[0]
                    for kind in KINDS}
            next(methods)
            for ranks, memory in ((0, "2MiB"), (1, "1300KiB"), (2, "1MiB"), (3, "1MiB")):
                kind, halo = next(methods)
                with self.subTest(name, kind=kind, ranks=ranks, memory=memory, halo=halo):
                    got, result = self.hash_of(*words, "--type", kind, "--device", "gpu",
                                               "--device-memory", memory, "--halo-steps", halo,
                                               "--results", "r.h5", "--repetitions", 2, ranks=ranks)
                    self.assertEqual(got, want[kind], str(result))
                    self.assertNotIn("gpu_", result.out)
                    with h5py.File(self.path("r.h5")) as results:
                        summary = list(results.values())[-1]["summary"]
                        self.assertGreater(summary["slabs"][0], 1)
                        self.assertGreaterEqual(summary["slab_steps"][0], 1)
                    os.remove(self.path("r.h5"))

    def test_stops_see_a_field_that_goes_through_in_slabs(self):
        common = (*self.words("heat", "f64"), "--every", 7, "--probe", "3,4; 50,50",
                  "--probe-every", 4)
        got = {}
        for device, more in (("cpu", ()), ("gpu", ("--device-memory", "900KiB"))):
            self.succeed(*common, "--device", device, *more, "--snapshots", f"{device}.h5:/s",
                         "--out", f"{device}_out.h5:/u", "--results",
                         f"{device}_results.h5", timeout=120)
            with h5py.File(self.path(f"{device}.h5")) as snapshots, \
                    h5py.File(self.path(f"{device}_out.h5")) as out, \
                    h5py.File(self.path(f"{device}_results.h5")) as results:
                got[device] = (snapshots["s"][...], out["u"][...],
                               next(iter(results.values()))["series"]["value"][...])
        for cpu, gpu in zip(got["cpu"], got["gpu"]):
            np.testing.assert_array_equal(cpu, gpu)

    def test_what_looks_at_a_field_sees_it(self):
        common = (*self.words("wave", "f64"), "--every", 5, "--probe", "3,4,5; 50,50,50",
                  "--probe-every", 4, "--norms")
        got = {}
        for device in ("cpu", "gpu"):
            self.succeed(*common, "--device", device, "--snapshots", f"{device}.h5:/s", "--out",
                         f"{device}_out.h5:/u", "--results",
                         f"{device}_results.h5", ranks=2, timeout=120)
            with h5py.File(self.path(f"{device}.h5")) as snapshots, \
                    h5py.File(self.path(f"{device}_out.h5")) as out, \
                    h5py.File(self.path(f"{device}_results.h5")) as results:
                series = next(iter(results.values()))["series"]
                got[device] = (snapshots["s"][...], out["u"][...], series["value"][...])
        for cpu, gpu in zip(got["cpu"], got["gpu"]):
            np.testing.assert_array_equal(cpu, gpu)

    def test_goes_on_from_a_checkpoint_of_either(self):
        want, _ = self.hash_of(*self.words("wave", "f32"), "--device", "cpu")
        words = list(self.words("wave", "f32"))
        at = words.index("--steps") + 1
        for first, second in (("gpu", "gpu"), ("cpu", "gpu"), ("gpu", "cpu")):
            with self.subTest(first=first, second=second):
                file = f"{first}_{second}.h5"
                short = words[:at] + [11] + words[at + 1:]
                self.succeed(*short, "--device", first, "--checkpoint", file, "--checkpoint-every",
                             5, ranks=2, timeout=120)
                got, result = self.hash_of(*words, "--device", second, "--resume", file, ranks=3)
                self.assertIn("resumed", result.out)
                self.assertEqual(got, want, str(result))

    def test_several_fields_go_the_same_way(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            for name in "uvw":
                file[name] = np.random.default_rng(ord(name)).standard_normal((90, 77))
        words = ("stencil", "--in", "in.h5:/u,/v,/w", "--steps", 25, "--boundary", "mirror")
        want, _ = self.hash_of(*words, "--device", "cpu")
        got, result = self.hash_of(*words, "--device", "gpu", ranks=2)
        self.assertEqual(got, want, str(result))
        self.assertIn("gpu_", result.out)


if __name__ == "__main__":
    tessera.main()
