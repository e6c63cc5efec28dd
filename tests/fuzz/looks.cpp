// Fuzzer of looks at files: an input is a letter for the question and the bytes of an HDF5 file. A
// fork answers each question, since a damaged file may crash the HDF5 library, which the program
// tolerates. An answer, one error with a code that blames the file, and a crash inside that library
// are correct; a crash in Tessera's code, a timeout, and an answer that does not read back are not.

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "io/columns.hpp"
#include "io/h5.hpp"
#include "io/probe.hpp"
#include "io/verify_file.hpp"
#include "reading.hpp"

extern "C" {
void __sanitizer_set_death_callback(void (*callback)());
// The functions that the linker wraps by those below.
void __real___sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);
void __real___sanitizer_cov_pcs_init(const std::uintptr_t* begin, const std::uintptr_t* end);
[[noreturn]] void __real__exit(int code);

const char* __asan_default_options() {
  return "exitcode=99:handle_abort=1:symbolize=0:detect_leaks=0:allocator_may_return_null=1:"
         "max_allocation_size_mb=8192";
}
}

namespace tessera::fuzz {
namespace {

constexpr int of_sanitizer = 99;  // exit code set above

struct Question {
  const char* how;
  const char* path;
  const char* afterwards;  ///< the ranks' read after a good answer
};
constexpr std::array questions{
    Question{"probe", "/A", "dataset"}, Question{"probe_table", "/A", "table"},
    Question{"probe_checksums", "/", nullptr}, Question{"probe_results", "/", nullptr},
    Question{"probe_output", "/", nullptr}};

std::span<std::uint8_t> counters;      // of the instrumented code
std::span<const std::uintptr_t> code;  // its addresses, each followed by flags

/// Returns the counters of a fork, in memory that outlives it.
std::span<std::uint8_t> counters_of_fork() {
  static void* const shared =
      mmap(nullptr, counters.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  return {static_cast<std::uint8_t*>(shared), counters.size()};
}

void tell_counters() { std::copy(counters.begin(), counters.end(), counters_of_fork().begin()); }

bool is_fork = false;

/// Extra counters of libFuzzer: outcomes per question, by code and message.
__attribute__((section("__libfuzzer_extra_counters"))) std::array<std::uint8_t, 8192> endings{};

void count_ending(const std::string& how, const Ending& ending) {
  std::string words = how + std::to_string(ending.code);
  for (const char c : ending.words.substr(0, 300))
    if (c < '0' || c > '9') words += c;
  endings[std::hash<std::string>{}(words) % endings.size()] = 1;
}

/// Returns an anonymous file for the messages of a fork's sanitizer.
int complaints() {
  static const int file = memfd_create("complaints", 0);
  return file;
}

std::string text_of_complaints() {
  std::string text(1 << 16, '\0');
  const ssize_t length = pread(complaints(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, length)));
  return text;
}

/// Returns the addresses of the first stack in a sanitizer's message, innermost first.
std::vector<std::uintptr_t> frames_of(const std::string& complaint) {
  std::vector<std::uintptr_t> frames;
  std::istringstream lines(complaint);
  for (std::string line; std::getline(lines, line);) {
    const auto mark = line.find("    #" + std::to_string(frames.size()) + " 0x");
    if (mark == 0) {
      frames.push_back(std::strtoull(line.c_str() + line.find("0x"), nullptr, 16));
    } else if (!frames.empty()) {
      break;
    }
  }
  return frames;
}

/// Returns whether instrumented code contains the address: at most `longest` bytes after a counted
/// position. Code linked in between, such as the sanitizers, does not count.
bool is_ours(std::uintptr_t address) {
  constexpr std::uintptr_t longest = 1024;  // bytes of code without a branch
  for (std::size_t i = 0; i < code.size(); i += 2)
    if (address >= code[i] && address - code[i] < longest) return true;
  return false;
}

/// Returns the position inside the HDF5 library of a crash, "" for a crash elsewhere. Skips inner
/// frames of the C library and the sanitizers, which either of them calls.
std::string place_in_library(const std::string& complaint) {
  for (const std::uintptr_t frame : frames_of(complaint)) {
    if (is_ours(frame)) return "";
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(frame), &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string module = std::filesystem::path(info.dli_fname).filename();
    if (module.starts_with("libhdf5"))
      return std::to_string(frame - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  }
  return "";
}

/// Returns whether a message reports a failed operator new: without a sanitizer, a regular error.
bool tells_of_memory(const std::string& complaint) {
  return complaint.find("allocation-size-too-big") != std::string::npos ||
         complaint.find("out-of-memory") != std::string::npos;
}

/// Counts of the answers.
struct Tally {
  std::map<std::string, long> counts;
  ~Tally() {
    for (const auto& [what, count] : counts)
      std::fprintf(stderr, "stat::%s: %ld\n", what.c_str(), count);
  }
};
Tally tally;

/// Ends the process for an input that violates a promise; if files are kept, keeps the first of
/// each kind instead.
void broken(const std::string& kind, const std::string& words, std::string_view input) {
  const char* const folder = std::getenv("TESSERA_FUZZ_KEEP");
  ++tally.counts["broken " + kind];
  if (folder == nullptr) {
    std::fprintf(stderr, "broken promise: %s\n%s\n", kind.c_str(), words.c_str());
    std::abort();
  }
  const std::filesystem::path kept = std::filesystem::path(folder) / ("look_" + kind);
  if (std::filesystem::exists(kept)) return;
  std::ofstream(kept, std::ios::binary) << input;
  std::ofstream(kept.string() + ".txt") << words << '\n';
}

const std::string& file_name() {
  static const std::string name =
      std::filesystem::temp_directory_path() / ("tessera-fuzz-" + std::to_string(getpid()) + ".h5");
  return name;
}

Ending ask(const char* how, const char* path) {
  (void)counters_of_fork();
  if (ftruncate(complaints(), 0) != 0) std::abort();
  const Ending ending = apart([&] {
    is_fork = true;
    __sanitizer_set_death_callback(tell_counters);
    dup2(complaints(), STDERR_FILENO);
    lseek(STDERR_FILENO, 0, SEEK_SET);
    return answer(how, file_name(), path);
  });
  const auto told = counters_of_fork();
  for (std::size_t i = 0; i < told.size(); ++i) counters[i] = std::max(counters[i], told[i]);
  count_ending(how, ending);
  return ending;
}

/// Parses the answer as the program does.
void check_answer(const std::string& how, const std::string& words) {
  io::DatasetName name{file_name(), "/A"};
  if (how == "probe") {
    const io::DatasetInfo info = io::parse_dataset(words, name);
    if (info.element_bytes <= 0 ||
        std::any_of(info.shape.begin(), info.shape.end(), [](index_t e) { return e < 0; }))
      throw Error(ExitCode::internal, "a dataset of impossible extents: " + words);
  } else if (how == "probe_table") {
    if (io::to_text(io::parse_table(words)) != words)
      throw Error(ExitCode::internal, "a table that reads as another: " + words);
  } else if (how == "probe_checksums") {
    if (io::to_text(io::parse_check(words)) != words)
      throw Error(ExitCode::internal, "checksums that read as others: " + words);
  }
}

bool blames_file(const std::string& how, int code) {
  const auto is = [code](ExitCode one) { return code == static_cast<int>(one); };
  return is(ExitCode::bad_data) || is(ExitCode::missing_input) ||
         (how == "probe_output" && (is(ExitCode::cannot_create) || is(ExitCode::io)));
}

/// Checks the outcome; returns whether the answer was good.
bool check_ending(const std::string& how, const Ending& ending, std::string_view input) {
  const std::string complaint = text_of_complaints();
  const auto wrong = [&](const std::string& kind) {
    broken(how + "_" + kind, fmt::format("code {}: {}\n{}", ending.code, ending.words, complaint),
           input);
    return false;
  };
  if (!ending.in_time) return wrong("hangs");
  if (complaint.find("runtime error") != std::string::npos) return wrong("undefined");
  if (ending.code == of_sanitizer || ending.code < 0) {
    if (tells_of_memory(complaint)) {
      ++tally.counts[how + " refused for memory"];
      return false;
    }
    const std::string place = place_in_library(complaint);
    if (place.empty()) return wrong("died");
    ++tally.counts[how + " died in HDF5"];
    return how.starts_with("probe") ? false : wrong("died_in_hdf5_at_" + place);
  }
  if (ending.code != 0) {
    ++tally.counts[how + " refused"];
    return blames_file(how, ending.code) && !trim(ending.words).empty()
               ? false
               : wrong("code_" + std::to_string(ending.code));
  }
  ++tally.counts[how + " answered"];
  try {
    if (how.starts_with("probe")) check_answer(how, ending.words);
  } catch (const std::exception& error) {
    return wrong(std::string("answer_") +
                 (dynamic_cast<const Error*>(&error) ? "misread" : "unread"));
  }
  return true;
}

}  // namespace
}  // namespace tessera::fuzz

extern "C" void __wrap___sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end) {
  tessera::fuzz::counters = {begin, end};
  __real___sanitizer_cov_8bit_counters_init(begin, end);
}

extern "C" void __wrap___sanitizer_cov_pcs_init(const std::uintptr_t* begin,
                                                const std::uintptr_t* end) {
  tessera::fuzz::code = {begin, end};
  __real___sanitizer_cov_pcs_init(begin, end);
}

/// Publishes the counters when a fork exits, including from an examination that times out.
extern "C" [[noreturn]] void __wrap__exit(int code) {
  if (tessera::fuzz::is_fork) tessera::fuzz::tell_counters();
  __real__exit(code);
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tessera::io::quiet_errors();  // initialises the HDF5 library once for all forks
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera::fuzz;
  if (size < 2) return -1;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Question& question = questions[data[0] % questions.size()];
  std::ofstream(file_name(), std::ios::binary | std::ios::trunc) << input.substr(1);
  const bool is_good = check_ending(question.how, ask(question.how, question.path), input);
  if (is_good && question.afterwards != nullptr)
    (void)check_ending(question.afterwards, ask(question.afterwards, question.path), input);
  return 0;
}
