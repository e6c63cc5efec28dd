/* A stand-in for the driver of CUDA, whose GPU has the memory of an array of the host. */
#include <stdint.h>

__attribute__((visibility("default"))) double gpu_memory[4096], managed_memory[4096];
__attribute__((visibility("default"))) int cuPointerGetAttribute(void* data, int attribute,
                                                                 uintptr_t address);

static int is_in(const double* memory, uintptr_t address) {
  return address >= (uintptr_t)memory && address < (uintptr_t)(memory + 4096);
}

int cuPointerGetAttribute(void* data, int attribute, uintptr_t address) {
  const int is_managed = is_in(managed_memory, address);
  if (!is_managed && !is_in(gpu_memory, address)) return 1;     /* CUDA_ERROR_INVALID_VALUE */
  *(unsigned*)data = attribute == 8 ? (unsigned)is_managed : 2; /* managed; of the device */
  return 0;
}
