"""Spack recipe (Spack 1.0 and later). In a clone:
    spack repo add jobs/packaging/spack/spack_repo/tessera && spack dev-build tessera
"""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Tessera(CMakePackage, CudaPackage):
    """Distributed products, transposes, stencils and sorts of arrays in HDF5 files, on MPI ranks
    with CPU cores or GPUs."""

    license("MIT")

    version("0.1.0")

    variant("mpi", default=True,
            description="Build the program and the distributed workloads; without: kernels alone")
    variant("report", default=True, when="+mpi",
            description="Provide Python's packages for `tessera report`")
    variant("python", default=False, description="Build the Python package")

    generator("ninja")
    conflicts("%gcc@:11", msg="C++20 is required")
    conflicts("%clang@:15", msg="C++20 is required")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("googletest", type="test")
    depends_on("hwloc")
    depends_on("fmt")
    depends_on("cuda@12:", when="+cuda")

    with when("+mpi"):
        depends_on("mpi")
        depends_on("hdf5+hl+mpi")
        depends_on("zlib-api")
        depends_on("libdeflate")
        depends_on("cli11@2.1:", type="build")
        depends_on("tomlplusplus")
        depends_on("nlohmann-json", type="build")

    with when("+report"):
        depends_on("py-h5py", type="run")
        depends_on("py-numpy", type="run")
        depends_on("py-matplotlib", type="run")

    with when("+python"):
        extends("python")
        depends_on("python@3.11:", type=("build", "link", "run"))
        depends_on("py-pybind11@2.10:", type="build")
        depends_on("py-numpy", type=("build", "run"))
        depends_on("py-mpi4py", type="run", when="+mpi")

    def cmake_args(self):
        args = [
            self.define_from_variant("TESSERA_MPI", "mpi"),
            self.define_from_variant("TESSERA_CUDA", "cuda"),
            self.define_from_variant("TESSERA_PYTHON_PACKAGE", "python"),
            self.define("TESSERA_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            args.append(self.define_from_variant("CMAKE_CUDA_ARCHITECTURES", "cuda_arch"))
        return args
