// Preloaded into a program: reports TESSERA_PROCESSORS processors to all callers of the C library
// in the process. Masks beyond the real processors are accepted and have no effect.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int processors(void) {
  const char* const text = getenv("TESSERA_PROCESSORS");
  const int number = text == NULL ? 0 : atoi(text);
  return number > 0 ? number : 1;
}

// Fails for a mask that is too small for all processors, like the system.
static int fill(size_t size, cpu_set_t* mask) {
  if (8 * size < (size_t)processors()) {
    errno = EINVAL;
    return -1;
  }
  memset(mask, 0, size);
  for (int p = 0; p < processors(); ++p) CPU_SET_S(p, size, mask);
  return 0;
}

int get_nprocs(void) { return processors(); }
int get_nprocs_conf(void) { return processors(); }

long sysconf(int name) {
  if (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF) return processors();
  static long (*real)(int) = NULL;
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "sysconf");
  return real(name);
}

int sched_getaffinity(pid_t process, size_t size, cpu_set_t* mask) {
  (void)process;
  return fill(size, mask);
}
int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t* mask) {
  (void)thread;
  return fill(size, mask) == 0 ? 0 : EINVAL;
}
int sched_setaffinity(pid_t process, size_t size, const cpu_set_t* mask) {
  (void)process, (void)size, (void)mask;
  return 0;
}
int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* mask) {
  (void)thread, (void)size, (void)mask;
  return 0;
}
