"""--device, --precision and kernels of GPUs on a machine that has none: what is asked for and cannot be had is one line."""

import tessera
from tessera import OK, USAGE

SMALL = {"matmul": ("--n", 24), "transpose": ("--n", 24), "sort": ("--n", 100),
         "stencil": ("--shape", "20x20", "--steps", 2)}


class Device(tessera.Case):
    def setUp(self):
        super().setUp()
        if "GPUs: none" not in self.run_tessera("machine", "--show").out:
            self.skipTest("a GPU is here")

    def test_a_gpu_that_is_not_there_is_refused_with_the_reason(self):
        for workload, size in SMALL.items():
            with self.subTest(workload):
                self.fail_with(USAGE, workload, *size, "--device", "gpu", words="needs a GPU")

    def test_auto_and_cpu_run_on_the_cpu_and_say_nothing(self):
        for workload, size in SMALL.items():
            for device in ("auto", "cpu"):
                with self.subTest(workload, device=device):
                    result = self.succeed(workload, *size, "--device", device, "--repetitions", 1)
                    self.assertNotIn("device", result.err)

    def test_fewer_bits_are_for_the_tensor_units(self):
        for words in (("--precision", "bf16"), ("--precision", "tf32", "--type", "f32", "--kernel", "tiled")):
            with self.subTest(words=words):
                self.fail_with(USAGE, "matmul", "--n", 24, *words, words="cuda_tensor in f32")
        self.assertEqual(self.succeed("matmul", "--n", 24, "--precision", "full").code, OK)


if __name__ == "__main__":
    tessera.main()
