// Preloaded into the program under test: makes the n-th call of one kind on matching files fail.
//
//   FAULT_CALL    pwrite, fsync, rename (or renameat2), fallocate, ftruncate, open or pread;
//                 allocate (aligned_alloc) or new (operator new, from main on), which return no
//                 memory for any action
//   FAULT_NUMBER  number of the call, counted from 1 in every process
//   FAULT_ACTION  an errno as a number; short (half is written, legal);
//                 lie (changes a bit and reports success);
//                 kill or kill_after (SIGKILL to the process itself before or after the call);
//                 list (no fault; logs every call of any kind on matching files)
//   FAULT_PATH    only files whose path contains this
//   FAULT_RANK    only this rank of the job (all when unset)
//   FAULT_LOG     file to which the fault appends a line: the call, the action and the path
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_int calls = 0;

static const char* setting(const char* name) {
  const char* value = getenv(name);
  return value == NULL ? "" : value;
}

static int (*real_open(void))(const char*, int, ...) {
  return (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
}

static void tell(const char* call, const char* path) {
  const int log =
      real_open()(setting("FAULT_LOG"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (log < 0) return;
  char line[4200];
  const int length = snprintf(line, sizeof line, "%s %s %s\n", call, setting("FAULT_ACTION"), path);
  if (write(log, line, (size_t)length) < 0) abort();
  close(log);
}

// Returns this process's rank as Open MPI's mpirun, or those of MPICH and Intel MPI, set it.
static const char* own_rank(void) {
  const char* rank = setting("OMPI_COMM_WORLD_RANK");
  return *rank != '\0' ? rank : setting("PMI_RANK");
}

// Returns whether this call is to fail.
static int meant(const char* call, const char* path) {
  const char* rank = setting("FAULT_RANK");
  if (strstr(path, setting("FAULT_PATH")) == NULL) return 0;
  if (*rank != '\0' && strcmp(rank, own_rank()) != 0) return 0;
  if (strcmp(setting("FAULT_ACTION"), "list") == 0) {
    tell(call, path);
    return 0;
  }
  if (strcmp(call, setting("FAULT_CALL")) != 0) return 0;
  if (atomic_fetch_add(&calls, 1) + 1 != atoi(setting("FAULT_NUMBER"))) return 0;
  tell(call, path);
  if (strcmp(setting("FAULT_ACTION"), "kill") == 0) kill(getpid(), SIGKILL);
  return 1;
}

static int meant_descriptor(const char* call, int descriptor) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return meant(call, path);
}

static int acts(const char* action) { return strcmp(setting("FAULT_ACTION"), action) == 0; }
static int error_number(void) { return atoi(setting("FAULT_ACTION")); }

static void after(int hit) {
  if (hit && acts("kill_after")) kill(getpid(), SIGKILL);
}

typedef ssize_t (*Pwrite)(int, const void*, size_t, off_t);

static ssize_t failing_pwrite(Pwrite real, int descriptor, const void* data, size_t count,
                              off_t offset) {
  const int hit = meant_descriptor("pwrite", descriptor);
  if (hit && error_number() > 0) {
    errno = error_number();
    return -1;
  }
  if (hit && acts("short")) return real(descriptor, data, count > 1 ? count / 2 : count, offset);
  if (hit && acts("lie") && count > 0) {
    char* changed = malloc(count);
    memcpy(changed, data, count);
    changed[count / 2] ^= 4;
    const ssize_t written = real(descriptor, changed, count, offset);
    free(changed);
    return written;
  }
  const ssize_t written = real(descriptor, data, count, offset);
  after(hit);
  return written;
}

ssize_t pwrite(int descriptor, const void* data, size_t count, off_t offset) {
  return failing_pwrite((Pwrite)dlsym(RTLD_NEXT, "pwrite"), descriptor, data, count, offset);
}
ssize_t pwrite64(int descriptor, const void* data, size_t count, off64_t offset) {
  return failing_pwrite((Pwrite)dlsym(RTLD_NEXT, "pwrite64"), descriptor, data, count, offset);
}

typedef ssize_t (*Pread)(int, void*, size_t, off_t);

static ssize_t failing_pread(Pread real, int descriptor, void* data, size_t count, off_t offset) {
  const int hit = meant_descriptor("pread", descriptor);
  if (hit && error_number() > 0) {
    errno = error_number();
    return -1;
  }
  return real(descriptor, data, hit && acts("short") && count > 1 ? count / 2 : count, offset);
}

ssize_t pread(int descriptor, void* data, size_t count, off_t offset) {
  return failing_pread((Pread)dlsym(RTLD_NEXT, "pread"), descriptor, data, count, offset);
}
ssize_t pread64(int descriptor, void* data, size_t count, off64_t offset) {
  return failing_pread((Pread)dlsym(RTLD_NEXT, "pread64"), descriptor, data, count, offset);
}

// Calls without partial success: return 0, or -1 with errno.
static int failing(int hit, int (*call)(void*), void* arguments) {
  if (hit && error_number() > 0) {
    errno = error_number();
    return -1;
  }
  const int result = call(arguments);
  after(hit);
  return result;
}

struct Sync {
  int descriptor;
};
static int do_fsync(void* a) {
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(((struct Sync*)a)->descriptor);
}
int fsync(int descriptor) {
  struct Sync arguments = {descriptor};
  return failing(meant_descriptor("fsync", descriptor), do_fsync, &arguments);
}

struct Rename {
  const char *from, *to;
};
static int do_rename(void* a) {
  const struct Rename* r = a;
  return ((int (*)(const char*, const char*))dlsym(RTLD_NEXT, "rename"))(r->from, r->to);
}
int rename(const char* from, const char* to) {
  struct Rename arguments = {from, to};
  return failing(meant("rename", from), do_rename, &arguments);
}

struct NewName {
  int from_folder;
  const char* from;
  int to_folder;
  const char* to;
  unsigned flags;
};
static int do_renameat2(void* a) {
  typedef int (*Renameat2)(int, const char*, int, const char*, unsigned);
  const struct NewName* r = a;
  return ((Renameat2)dlsym(RTLD_NEXT, "renameat2"))(r->from_folder, r->from, r->to_folder, r->to,
                                                    r->flags);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  struct NewName arguments = {from_folder, from, to_folder, to, flags};
  return failing(meant("rename", from), do_renameat2, &arguments);
}

struct Truncate {
  int descriptor;
  off_t length;
};
static int do_ftruncate(void* a) {
  const struct Truncate* t = a;
  return ((int (*)(int, off_t))dlsym(RTLD_NEXT, "ftruncate64"))(t->descriptor, t->length);
}
int ftruncate(int descriptor, off_t length) {
  struct Truncate arguments = {descriptor, length};
  return failing(meant_descriptor("ftruncate", descriptor), do_ftruncate, &arguments);
}
int ftruncate64(int descriptor, off64_t length) { return ftruncate(descriptor, length); }

// posix_fallocate returns its error.
int posix_fallocate(int descriptor, off_t offset, off_t length) {
  const int hit = meant_descriptor("fallocate", descriptor);
  if (hit && error_number() > 0) return error_number();
  const int result = ((int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate64"))(
      descriptor, offset, length);
  after(hit);
  return result;
}
int posix_fallocate64(int descriptor, off64_t offset, off64_t length) {
  return posix_fallocate(descriptor, offset, length);
}

// Memory. Requests of all threads are counted together.
void* aligned_alloc(size_t alignment, size_t size) {
  typedef void* (*Allocate)(size_t, size_t);
  if (meant("allocate", "")) {
    errno = ENOMEM;
    return NULL;
  }
  return ((Allocate)dlsym(RTLD_NEXT, "aligned_alloc"))(alignment, size);
}

// Requests of static initialisers are not counted: nothing can catch their exceptions, and they
// take a few hundred bytes.
static atomic_int in_main = 0;
typedef int (*Main)(int, char**, char**);
static Main program_main = NULL;
static int counted_main(int count, char** words, char** environment) {
  in_main = 1;
  return program_main(count, words, environment);
}
int __libc_start_main(Main program, int count, char** words, void (*init)(void), void (*fini)(void),
                      void (*unload)(void), void* stack);
int __libc_start_main(Main program, int count, char** words, void (*init)(void), void (*fini)(void),
                      void (*unload)(void), void* stack) {
  program_main = program;
  const __typeof__(&__libc_start_main) real =
      (__typeof__(&__libc_start_main))dlsym(RTLD_NEXT, "__libc_start_main");
  return real(counted_main, count, words, init, fini, unload, stack);
}

// operator new(unsigned long), as libstdc++ has it; its failure calls std::__throw_bad_alloc(). A
// launcher in C may load libraries in C++ where RTLD_NEXT does not find theirs.
void* _Znwm(size_t size);
void* _Znwm(size_t size) {
  void* const memory = in_main && meant("new", "") ? NULL : malloc(size > 0 ? size : 1);
  if (memory == NULL) ((void (*)(void))dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv"))();
  return memory;
}

static int failing_open(const char* path, int flags, mode_t mode) {
  const int hit = meant("open", path);
  if (hit && error_number() > 0) {
    errno = error_number();
    return -1;
  }
  const int result = real_open()(path, flags, mode);
  after(hit);
  return result;
}
int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return failing_open(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return failing_open(path, flags | O_LARGEFILE, mode);
}
