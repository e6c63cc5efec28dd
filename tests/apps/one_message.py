"""A failing request prints its cause in one message, the same every time, on many ranks and under
load.

The complete set (TESSERA_TEST_SLOW=1): 200 runs of each request with 16 spinning shells."""

import collections
import concurrent.futures
import os
import subprocess

import tessera
from tessera import BAD_DATA, CANNOT_CREATE, MEMORY, MISSING, USAGE, numpy

RUNS, SPINNING, AT_ONCE = (200, 16, 8) if tessera.SLOW else (3, 4, 3)
RANKS = 4


class OneMessage(tessera.Case):
    def setUp(self):
        super().setUp()
        rng = numpy.random.default_rng(tessera.SEED)
        self.a = tessera.write_matrix(self.path("a.h5"), rng.normal(size=(30, 20)), name="A")
        self.b = tessera.write_matrix(self.path("b.h5"), rng.normal(size=(31, 20)), name="B")
        with open(self.path("notes.h5"), "w") as file:
            file.write("notes\n")
        with open(self.path("bad.toml"), "w") as file:
            file.write("n = 8\nkernal = 'tiled'\n")
        for _ in range(SPINNING):
            spinner = subprocess.Popen(["sh", "-c", "while kill -0 $PPID; do :; done"])
            self.addCleanup(spinner.wait)
            self.addCleanup(spinner.kill)

    REQUESTS = {
        "an unknown option": (USAGE, "matmul", "--kernal", "x"),
        "an unknown command": (USAGE, "matmull"),
        "a bad value": (USAGE, "sort", "--n", "many"),
        "a bad file of options": (USAGE, "matmul", "--config", "bad.toml"),
        "a missing input": (MISSING, "transpose", "--in", "none.h5:/A"),
        "an input that is no HDF5": (BAD_DATA, "transpose", "--in", "notes.h5:/A"),
        "shapes that do not go together": (BAD_DATA, "matmul", "--a", "a.h5:/A", "--b", "b.h5:/B"),
        "an output that exists": (CANNOT_CREATE, "transpose", "--in", "a.h5:/A", "--out",
                                  "notes.h5:/T"),
        "no memory": (MEMORY, "stencil", "--shape", "900x900", "--memory", "1MiB"),
        "a missing report": (MISSING, "report", "none.h5"),
    }

    def test_every_run_says_the_same_once(self):
        for name, (code, *words) in self.REQUESTS.items():
            with self.subTest(name):
                def one(_, words=words):
                    return tessera.Job(words, ranks=RANKS, folder=self.folder).wait()
                with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                    results = list(pool.map(one, range(RUNS)))
                said = collections.Counter(tuple(result.errors) for result in results)
                codes = collections.Counter(result.code for result in results)
                killed = sum("exited on signal" in result.err for result in results)
                print(f"  {name}: codes {dict(codes)}, {len(said)} different, {killed} with a rank "
                      f"that a signal ended, "
                      f"{sum(result.deserted for result in results)} launchers that stayed",
                      flush=True)
                wrong = next((r for r in results if len(r.errors) != 1 or r.code != code),
                             results[0])
                self.assertEqual(set(codes), {code}, str(wrong))
                self.assertEqual([len(errors) for errors in said], [1], f"{said}\n{wrong}")
                self.assertEqual(killed, 0, str(wrong))
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.h5", "b.h5", "bad.toml", "notes.h5"])


if __name__ == "__main__":
    tessera.main()
