"""The library of the CUDA kernels is loaded at run time: without it, with one of another build, and
what a process holds before its data."""

import json
import os

import tessera
from tessera import USAGE

MISSING = "/nowhere/libtessera_cuda.so"
KERNELS = {"matmul": ("cuda_tiled", "--n", 24), "transpose": ("cuda_vectorized", "--n", 24),
           "sort": ("cuda_radix", "--n", 100),
           "stencil": ("cuda_streaming", "--shape", "20x20", "--steps", 2)}


class CudaLibrary(tessera.Case):
    def setUp(self):
        super().setUp()
        if "cuda_tiled" not in self.run_tessera("list").out:
            self.skipTest("built without CUDA")

    def expect_refusals(self, library, *words):
        environment = {"TESSERA_CUDA_LIBRARY": library}
        for workload, (kernel, *size) in KERNELS.items():
            with self.subTest(workload):
                self.fail_with(USAGE, workload, *size, "--kernel", kernel, environment=environment,
                               words=(kernel, *words), ranks=2)
                self.fail_with(USAGE, workload, *size, "--device", "gpu", environment=environment,
                               words=words)
                self.succeed(workload, *size, "--repetitions", 1, environment=environment, ranks=2)

    def test_a_missing_library_is_named_and_cpus_work(self):
        self.expect_refusals(MISSING, MISSING)

    def test_a_library_of_another_build_is_refused(self):
        self.expect_refusals(os.environ["TESSERA_OTHER_CUDA"], "is of version 0")

    def test_a_file_that_is_no_library_is_refused(self):
        text = self.path("text.so")
        with open(text, "w", encoding="utf8") as file:
            file.write("no library")
        self.expect_refusals(text, text)

    def test_answers_say_why_no_gpu_is_used(self):
        for words in (("list",), ("machine", "--show")):
            with self.subTest(words=words):
                out = self.succeed(*words, environment={"TESSERA_CUDA_LIBRARY": MISSING}).out
                self.assertIn(MISSING, out)


class Footprint(tessera.Case):
    def test_a_process_is_small_before_its_data(self):
        """40 MB: the vendor's libraries alone would exceed it."""
        if tessera.SANITIZED:
            self.skipTest("a sanitizer has its own memory")
        for words in (("matmul", "--n", 24), ("sort", "--n", 100)):
            with self.subTest(words=words):
                out = self.succeed(*words, "--device", "cpu", "--json").out
                self.assertLess(json.loads(out)["memory"]["peak"], 40 << 20)


if __name__ == "__main__":
    tessera.main()
