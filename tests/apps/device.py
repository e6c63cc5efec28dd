"""--device, --precision and GPU kernels on a machine without GPU: an unavailable request is a
one-line error."""

import tessera
from tessera import OK, USAGE

SMALL = {"matmul": ("--n", 24), "transpose": ("--n", 24), "sort": ("--n", 100),
         "stencil": ("--shape", "20x20", "--steps", 2)}
KERNELS = {"matmul": "cuda_tiled", "transpose": "cuda_vectorized", "sort": "cuda_radix",
           "stencil": "cuda_streaming"}


class Device(tessera.Case):
    def setUp(self):
        super().setUp()
        if "GPUs: none" not in self.run_tessera("machine", "--show").out:
            self.skipTest("a GPU is here")

    def test_a_gpu_that_is_not_there_is_refused_with_the_reason(self):
        for workload, size in SMALL.items():
            with self.subTest(workload):
                self.fail_with(USAGE, workload, *size, "--device", "gpu", words="needs a GPU")
                self.fail_with(USAGE, workload, *size, "--kernel", KERNELS[workload],
                               words=(KERNELS[workload], "needs a GPU"))

    def test_auto_and_cpu_run_on_the_cpu_and_say_nothing(self):
        for workload, size in SMALL.items():
            for device in ("auto", "cpu"):
                with self.subTest(workload, device=device):
                    result = self.succeed(workload, *size, "--device", device, "--repetitions", 1)
                    self.assertNotIn("device", result.err)

    def test_what_stays_on_gpus_needs_a_kernel_for_them(self):
        for workload in ("matmul", "transpose", "sort"):
            words = (workload, *SMALL[workload], "--gpu-exchange")
            for way in ("ipc", "nccl", "mpi", "staged"):
                with self.subTest(workload, way=way):
                    self.fail_with(USAGE, *words, way, words="needs a GPU kernel")
            for way in ("auto", "host"):
                self.succeed(*words, way, "--repetitions", 1, ranks=2)
            self.fail_with(USAGE, *words, "pigeon", words="gpu-exchange")
            self.fail_with(USAGE, *words, "nccl", "--plan", words="needs a GPU kernel")

    def test_fewer_bits_are_for_the_tensor_units(self):
        for words in (("--precision", "bf16"), ("--precision", "int8", "--type", "f64"),
                      ("--precision", "fp8", "--type", "f32", "--kernel", "naive"),
                      ("--precision", "tf32", "--type", "f32", "--kernel", "tiled")):
            with self.subTest(words=words):
                self.fail_with(USAGE, "matmul", "--n", 24, *words,
                               words="cuda_tensor and --type f32")
        self.assertEqual(self.succeed("matmul", "--n", 24, "--precision", "full").code, OK)


class DeviceMemory(tessera.Case):
    """--device-memory: larger products are streamed through the device in pieces."""

    def test_the_plan_says_how_many_pieces_and_what_crosses_the_bus(self):
        if "cuda_tensor" not in self.run_tessera("list").out:
            self.skipTest("built without CUDA")
        def plan(*words):
            return self.succeed("matmul", "--n", 32768, "--type", "f64", "--device", "gpu",
                                "--kernel", "cuda_tensor",
                                "--plan", *words).out
        self.assertRegex(
            plan("--device-memory", "12GiB"),
            r"through .* of device memory in \d+ pieces of .* x 32768; "
            "16 GiB to the device, 8 GiB back")
        self.assertIn("(k is split)", plan("--device-memory", "100MiB"))
        self.assertNotIn("pieces", plan("--device-memory", "100GiB"))

    def test_the_plan_says_how_many_slabs_of_a_field(self):
        if "cuda_temporal" not in self.run_tessera("list").out:
            self.skipTest("built without CUDA")
        def plan(*words):
            return self.succeed("stencil", "--shape", "65536x65536", "--type", "f32", "--steps",
                                256, "--device", "gpu", "--plan", *words).out
        self.assertRegex(
            plan("--device-memory", "8GiB"),
            r"through .* of device memory in \d+ slabs of \d+ x 65536, \d+ steps at a time; "
            ".* to the device, .* back")
        self.assertNotIn("slabs", plan("--device-memory", "100GiB"))
        self.fail_with(71, "stencil", "--shape", "65536x65536", "--steps", 4, "--device", "gpu",
                       "--plan", "--device-memory", "1MiB",
                       words="insufficient for slabs")

    def test_it_is_no_concern_of_the_cpu(self):
        self.succeed("stencil", "--shape", "24x24", "--device", "cpu", "--device-memory", 1,
                     "--repetitions", 1)
        self.succeed("matmul", "--n", 24, "--device", "cpu", "--device-memory", 1, "--repetitions",
                     1)


if __name__ == "__main__":
    tessera.main()
