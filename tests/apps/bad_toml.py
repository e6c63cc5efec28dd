"""Invalid parameter files: refused as all requests (refused.py), with line and column."""

import os

import tessera
from refused import Refused
from tessera import MISSING, USAGE


class Toml(Refused):
    def refuse_toml(self, text, words, code=USAGE):
        with open(self.path("run.toml"), "w") as file:
            file.write(text)
        self.refuse(code, "matmul", "--config", "run.toml", words=words, ranks=(0,))

    def test_missing_or_no_file(self):
        self.refuse(MISSING, "matmul", "--config", "nothere.toml", words="'nothere.toml'")
        os.mkdir(self.path("folder"))
        self.refuse(MISSING, "matmul", "--config", "folder", words="'folder'")
        os.mkfifo(self.path("pipe.toml"))
        self.refuse(MISSING, "matmul", "--config", "pipe.toml", words=("'pipe.toml'", "pipe"),
                    ranks=(0,))

    def test_unreadable_text(self):
        self.refuse_toml("n = 5\nk = = 3\n", "run.toml:2:")
        self.refuse_toml("n = 5\nn = 6\n", "run.toml:2:")
        self.refuse_toml("n = \"open\n", "run.toml:1:")
        with open(self.path("run.toml"), "wb") as file:
            file.write(b"n = 5\n\xff\xfe\x00")
        self.refuse(USAGE, "matmul", "--config", "run.toml", words="run.toml:")

    def test_unknown_key(self):
        self.refuse_toml("n = 5\n\n  kernal = \"tiled\"\n",
                         ("run.toml:3:3", "'kernal'", "'kernel'"))
        self.refuse_toml("[matmul]\nn = 5\n", ("run.toml:1:", "'matmul'"))
        self.refuse_toml("config = \"other.toml\"\n", ("run.toml:1:1", "'config'"))

    def test_bad_values(self):
        self.refuse_toml("n = \"many\"\n", ("run.toml:1:1: n", "'many'"))
        self.refuse_toml("n = 5\nkernel = [\"naive\", \"tyled\"]\n",
                         ("run.toml:2:1", "'tyled'", "'tiled'"))
        self.refuse_toml("repetitions = [1, 2]\n", ("run.toml:1:1", "repetitions"))
        self.refuse_toml("n = []\n", ("run.toml:1:1", "n"))
        self.refuse_toml("n = [[1]]\n", ("run.toml:1:1", "n"))
        self.refuse_toml("n = 2020-01-01\n", ("run.toml:1:1", "n"))
        self.refuse_toml("repetitions = 0\n", ("run.toml:1:1", "repetitions"))
        self.refuse_toml("overwrite = \"perhaps\"\n", ("run.toml:1:1", "overwrite"))


if __name__ == "__main__":
    tessera.main()
