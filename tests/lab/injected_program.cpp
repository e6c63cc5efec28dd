// A program into which CUDA would load the library of CUDA_INJECTION64_PATH: does that without
// CUDA.

#include <dlfcn.h>

#include <cstdlib>

int main() {
  volatile double x = 1;
  for (int i = 0; i < 30'000'000; ++i) x = x * 0.999999 + 1e-3;
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return 1;
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return 2;
  const auto start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"));
  return start != nullptr && start() == 1 ? 0 : 3;
}
