"""tessera sort: files that hold other than rows."""

import tessera
from tessera import h5py, numpy


class Nothing(tessera.Case):
    def test_a_null_dataspace_is_called_so(self):
        with h5py.File(self.path("in.h5"), "w") as file:
            file["null"] = h5py.Empty("f8")
            file["scalar"] = 1.5
            file["table/a"] = numpy.arange(3)
            file["table/null"] = h5py.Empty("f8")
        for words in (("sort", "--in", "in.h5:/null"), ("sort", "--in", "in.h5:/table", "--by", "a"), ("matmul", "--a", "in.h5:/null", "--b", "in.h5:/null"),
                      ("transpose", "--in", "in.h5:/null"), ("stencil", "--in", "in.h5:/null", "--steps", 1)):
            result = self.fail_with(tessera.BAD_DATA, *words, words=("null", "null dataspace"))
            self.assertNotIn("scalar", result.errors[0])
        self.fail_with(tessera.BAD_DATA, "sort", "--in", "in.h5:/scalar", words="is a scalar")


if __name__ == "__main__":
    tessera.main()
