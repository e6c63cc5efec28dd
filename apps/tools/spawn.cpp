#include "spawn.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "run/stop.hpp"

extern char** environ;

namespace tessera::apps {

int run_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return 127;
  run::end_with_us(pid);
  int status = 0;
  waitpid(pid, &status, 0);
  run::end_with_us(0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string own_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string installed_file(const std::string& installed, const std::string& built) {
  std::error_code error;
  const auto path = std::filesystem::path(own_program()).parent_path() / installed;
  return std::filesystem::exists(path, error) ? path.lexically_normal().string() : built;
}

}  // namespace tessera::apps
