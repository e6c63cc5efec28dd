#include "spawn.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
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

std::optional<std::string> output_of_program(std::vector<std::string> words) {
  constexpr std::size_t most = 64 * 1024;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const bool started = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  std::array<char, 512> part{};
  pollfd ready{ends[0], POLLIN, 0};
  while (started && text.size() < most && poll(&ready, 1, 5000) > 0) {
    const ssize_t count = ::read(ends[0], part.data(), part.size());
    if (count <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
  close(ends[0]);
  if (!started) return {};
  kill(pid, SIGKILL);  // its output is complete or timed out
  waitpid(pid, nullptr, 0);
  return text;
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
