#include "run/answer.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/note.hpp"
#include "base/text.hpp"
#include "mpi/account.hpp"
#include "mpi/launcher.hpp"
#include "mpi/runtime.hpp"
#include "run/provenance.hpp"

namespace tessera::inline v1::run {
namespace {

constexpr int schema = 1;  // version of the object

Json& object() {
  static Json one = Json::object();
  return one;
}

/// Returns the members that every object has, before those of object().
Json frame_of(int code, const std::string& error) {
  Json all = Json::object();
  all["schema"] = schema;
  all["version"] = version();
  all["build"] = build_name();
  all["exit_code"] = code;
  all["error"] = error.empty() ? Json() : Json(error);
  return all;
}

std::string text_of(const Json& all) {
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The objects of runs that a signal ends: made beforehand, as handlers cannot allocate memory.
struct StoppedAnswers {
  static constexpr std::array<int, 3> numbers{SIGINT, SIGTERM, SIGHUP};
  std::array<std::string, 3> texts;
  std::atomic<int> output{-1};  ///< -1: none is to be printed
};
StoppedAnswers stopped;

/// Makes them for standard output at the descriptor.
void expect_signals(int output) {
  constexpr std::array names{"Ctrl-C", "SIGTERM", "SIGHUP"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    Json all = frame_of(128 + StoppedAnswers::numbers[i],
                        std::string("the run was stopped by ") + names[i]);
    all.update(object());
    all["time"] = Json::object();
    all["notes"] = all["lines"] = Json::array();
    stopped.texts[i] = text_of(all);
  }
  stopped.output = output;
}

/// Returns whether a flag is on the command line, before "--", or in the environment if it is not.
bool asks(const std::vector<std::string>& words, const std::string& name) {
  const std::string flag = "--" + name;
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto word = std::make_reverse_iterator(end); word != words.rend(); ++word) {
    if (*word == flag || *word == flag + "=true") return true;
    if (*word == flag + "=false") return false;
  }
  const char* const variable = std::getenv(environment_name(name).c_str());
  return variable != nullptr && std::string_view(variable) == "true";
}

/// Returns what was written to the redirected standard output, in lines.
std::vector<std::string> captured_lines() {
  std::string text;
  std::array<char, 1 << 16> piece{};
  off_t at = 0;
  while (true) {
    const ssize_t count = pread(STDOUT_FILENO, piece.data(), piece.size(), at);
    if (count <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(count));
    at += count;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text.empty() ? std::vector<std::string>{} : split(text, '\n');
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t count = write(descriptor, text.data() + at, text.size() - at);
    if (count < 0 && errno == EINTR) continue;
    require(count > 0, ExitCode::io,
            std::string("standard output cannot be written (") + std::strerror(errno) +
                "); check its target (results files may be complete)");
    at += static_cast<std::size_t>(count);
  }
}

Json json_of_text(Kind kind, const std::string& text) {
  if (kind == Kind::flag) return text == "true";
  if (text.empty()) return nullptr;
  if (kind == Kind::integer) return std::strtoll(text.c_str(), nullptr, 10);
  if (kind == Kind::real) return std::strtod(text.c_str(), nullptr);
  if (kind == Kind::bytes) return parse_bytes(text);
  return text;
}

}  // namespace

Screen screen_of(const std::vector<std::string>& words) {
  if (asks(words, "json")) return Screen::json;
  return asks(words, "quiet") ? Screen::nothing : Screen::text;
}

Screen screen_of(const Parsed& parsed) {
  const auto on = [&](const char* name) {
    const auto found = parsed.lists.find(name);
    return found != parsed.lists.end() && found->second.front() == "true";
  };
  if (on("json")) return Screen::json;
  return on("quiet") ? Screen::nothing : Screen::text;
}

void Answer::begin(Screen screen) {
  if (screen == screen_ || output_ >= 0) return;
  const bool captures = screen == Screen::json && mpi::launcher_rank() == 0;
  const int target = captures ? memfd_create("tessera-output", MFD_CLOEXEC)
                              : open("/dev/null", O_WRONLY | O_CLOEXEC);
  require(target >= 0, ExitCode::internal,
          std::string("standard output cannot be redirected: ") + std::strerror(errno));
  std::fflush(stdout);
  output_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (screen == Screen::nothing) silence_notes();
  if (captures) expect_signals(output_);
  dup2(target, STDOUT_FILENO);
  close(target);
  screen_ = screen;
}

void Answer::set(const std::string& member, const Json& value) {
  if (is_json()) object()[member] = value;
}

void Answer::append(const std::string& member, const Json& value) {
  if (is_json()) object()[member].push_back(value);
}

void Answer::add_rows(const std::string& table, const Json& units, const Json& rows) {
  if (!is_json()) return;
  Json& all = object()["tables"];
  auto found =
      std::find_if(all.begin(), all.end(), [&](const Json& one) { return one["table"] == table; });
  if (found == all.end()) {
    all.push_back({{"table", table}, {"units", units}, {"rows", Json::array()}});
    found = std::prev(all.end());
  }
  for (const Json& row : rows) (*found)["rows"].push_back(row);
}

void Answer::let_through() {
  if (output_ < 0) return;
  stopped.output = -1;
  std::fflush(stdout);
  dup2(output_, STDOUT_FILENO);
  close(output_);
  output_ = -1;
  screen_ = Screen::text;
}

void Answer::print(int code) {
  if (!is_json() || output_ < 0) return;
  std::fflush(stdout);
  Json all = frame_of(code, code == 0 ? "" : mpi::last_error());
  all.update(object());
  all["time"] = Json::object();
  for (const auto& [phase, seconds] : mpi::account().seconds()) all["time"][phase] = seconds;
  all["notes"] = notes();
  all["lines"] = captured_lines();
  let_through();
  if (mpi::launcher_rank() != 0) return;
  write_all(STDOUT_FILENO, text_of(all));
}

Answer& answer() {
  static Answer one;
  return one;
}

void answer_stopped(int number) noexcept {
  const int output = stopped.output.exchange(-1);
  const auto* const found =
      std::find(StoppedAnswers::numbers.begin(), StoppedAnswers::numbers.end(), number);
  if (output < 0 || found == StoppedAnswers::numbers.end()) return;
  const std::string& text =
      stopped.texts[static_cast<std::size_t>(found - StoppedAnswers::numbers.begin())];
  [[maybe_unused]] const auto written = write(output, text.data(), text.size());
}

void answer_command(const std::string& name, const std::vector<std::string>& arguments) {
  object()["command"] = name;
  object()["arguments"] = arguments;
}

void answer_options(const OptionSet& options, const Parsed& parsed) {
  if (!answer().is_json()) return;
  Json all = Json::object();
  for (const Option& option : options.options()) {
    if (option.shared) continue;
    const std::vector<std::string>& texts = parsed.lists.at(option.name);
    Json values = Json::array();
    for (const std::string& text : texts) values.push_back(json_of_text(option.kind, text));
    all[option.name] = {{"value", option.many || texts.size() > 1 ? values : values.front()},
                        {"source", parsed.sources.at(option.name)}};
  }
  answer().set("options", all);
}

}  // namespace tessera::inline v1::run
