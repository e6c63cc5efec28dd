// Files of sorted runs and parts in a locked scratch folder: an unfinished file has a temporary
// name, and a file of an earlier attempt is reused if its identity matches.

#include "workloads/sort/external/runs.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "io/checksum.hpp"
#include "io/notes.hpp"
#include "io/occupant.hpp"
#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "io/verify_file.hpp"
#include "mpi/heartbeat.hpp"

namespace tessera::inline v1::workloads::sort {
namespace {

namespace fs = std::filesystem;

constexpr const char* order_name = "order";
constexpr const char* identity_note = "sort_run";
constexpr const char* rows_note = "sort_rows";
constexpr const char* samples_note = "sort_samples";
constexpr const char* hash_before_note = "sort_hash_before";
constexpr const char* hash_after_note = "sort_hash_after";

/// Returns whether a file name is that of a run, a part, or an unfinished one.
bool is_of_runs(std::string_view name) {
  if (name == order_name) return true;
  const bool hidden = name.starts_with('.');
  if (hidden) name.remove_prefix(1);
  if (name.starts_with("part_")) name.remove_prefix(5);
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  name.remove_prefix(digits);
  return digits >= 6 && (hidden ? name.starts_with(".h5.partial-") : name == ".h5");
}

/// Returns whether a file is intact and was not written by a sort; a damaged file may be a
/// remainder of a sort.
bool is_of_others(const std::string& file) {
  try {
    return io::occupant_of(file) == io::Occupant::others;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string identity_of(const Inputs& inputs, const Problem& problem,
                        const dist::sort::RunPlan& plan, const RowPieces& pieces) {
  std::string text =
      problem.generated() ? fmt::format("{} of {}", problem.input, problem.n) : std::string();
  if (inputs.data) {
    const std::string& file = inputs.data->name().file;
    text = fmt::format("{} of {} bytes, {}", inputs.data->name().text(), fs::file_size(file),
                       fs::last_write_time(file).time_since_epoch().count());
  }
  text += fmt::format("; seed {}; {} runs of {} rows, sampled every {};", problem.seed, plan.runs,
                      plan.rows, plan.step);
  if (problem.unique) text += " each key once;";
  if (problem.takes_first()) text += fmt::format(" the first {};", *problem.top);
  for (const SortColumn& key : problem.by) {
    text += fmt::format(" {}.{}[{}:{}] {}", key.column.path, key.column.member, key.bytes.begin,
                        key.bytes.end, text_of(key));
  }
  for (const PieceColumn& one : pieces.columns()) text += " " + one.column.path;
  return text;
}

std::string SortedFiles::run(index_t number) const {
  return fmt::format("{}/{:06}.h5", folder_, number);
}
std::string SortedFiles::part(index_t number) const {
  return fmt::format("{}/part_{:06}.h5", folder_, number);
}

std::string SortedFiles::order() const { return fmt::format("{}/{}", folder_, order_name); }

std::string folder_of_runs(const run::Values& values) {
  const fs::path out =
      io::parse_table_name(values.text(values.has("out") ? "out" : "argsort"), "out").file;
  const fs::path base =
      values.has("scratch") ? fs::path(values.text("scratch")) / out.filename() : out;
  return base.string() + ".runs";
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) close(folder_);
}

bool FolderLock::take(const std::string& folder) {
  if (folder_ >= 0) close(folder_);
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0 || flock(folder_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return true;
  close(std::exchange(folder_, -1));
  return false;
}

void SortedFiles::make_folder() {
  std::error_code error;
  note(folder_);  // before it exists: a signal removes it only if it is empty
  fs::create_directories(folder_, error);
  bool alone = lock_.take(folder_);
  while (alone &&
         fs::create_directories(folder_, error))  // the sort that owned it has just removed it
    alone = lock_.take(folder_);
  require(alone, ExitCode::cannot_create,
          fmt::format("folder '{}' is in use by another sort; wait for it or name another folder "
                      "with --scratch",
                      folder_));
  require(!error, ExitCode::cannot_create,
          fmt::format("folder '{}' of the sorted runs cannot be created ({}); name another folder "
                      "with --scratch",
                      folder_, error.message()));
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    require(
        !is_of_runs(name) || !entry.is_regular_file(error) || !is_of_others(entry.path().string()),
        ExitCode::cannot_create,
        fmt::format("'{}' is not a sorted run and would be overwritten by one; name another folder "
                    "with --scratch",
                    entry.path().string()));
  }
  require(io::is_own_folder(folder_), ExitCode::cannot_create,
          fmt::format("folder '{}' of the sorted runs belongs to another user; name another folder "
                      "with --scratch",
                      folder_));
}

SortedFiles::~SortedFiles() {
  for (const std::string& path : noted_) io::forget_partial(path);
}

/// Registers a path for removal on a signal, unless it is to be kept.
void SortedFiles::note(const std::string& path) {
  if (on_signal_ == OnSignal::keep) return;
  io::note_partial(path);
  noted_.push_back(path);
}

void SortedFiles::remove_folder() const {
  std::error_code ignored;  // remaining files are found and replaced, or used, by the next attempt
  std::vector<fs::path> ours;
  for (fs::directory_iterator entry(folder_, ignored), end; entry != end; entry.increment(ignored))
    if (is_of_runs(entry->path().filename().string())) ours.push_back(entry->path());
  for_each_on_threads(2, ssize(ours),
                      [&](index_t i, int) {  // each removal waits until its pages are freed
                        std::error_code one;
                        fs::remove(ours[static_cast<std::size_t>(i)], one);
                      });
  fs::remove(folder_, ignored);  // fails if the folder has other files
}

void SortedFiles::remove_empty_folder() const {
  std::error_code ignored;
  if (lock_.held()) fs::remove(folder_, ignored);
}

bool SortedFiles::has(const std::string& file) const {
  try {
    if (io::Notes(file).text(identity_note) != identity_) return false;
    const io::FileCheck check = io::check_file(file, [](index_t) { mpi::heartbeat(); });
    return std::all_of(check.datasets.begin(), check.datasets.end(),
                       [](const io::DatasetCheck& one) { return one.matches(); });
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<io::OutputFile> SortedFiles::create(const std::string& file,
                                                    const Sorted& rows) const {
  std::vector<io::Handle> types;
  std::vector<io::DatasetSpec> specs;
  const auto add = [&](const char* path, std::vector<index_t> shape, io::Handle type) {
    types.push_back(std::move(type));
    specs.push_back(
        {.path = path, .shape = std::move(shape), .type = types.back(), .dimensions = {}});
  };
  for (const PieceColumn& one : pieces_.columns()) {
    std::vector<index_t> shape = one.column.info.shape;
    shape.front() = rows.rows;
    add(one.column.path.c_str(), shape, pieces_.stored_type(one));
  }
  add(samples_path, {static_cast<index_t>(rows.samples.size())}, io::owned_type(Element::u64));
  return std::make_unique<io::OutputFile>(mpi::Communicator::self(), file, specs,
                                          io::OutputFile::Existing::known,
                                          io::OutputFile::Sync::off);
}

/// Queues a write; holds the owner of the memory, if any, until then.
void SortedFiles::write_later(std::size_t dataset, std::span<const std::byte> data,
                              std::shared_ptr<const void> memory) {
  written_ = queue_.ask([this, &out = *file_, dataset, data, memory = std::move(memory)] {
    out.write(dataset, 0, data);
    queue_.count_written(ssize(data));
  });
}

index_t SortedFiles::make(const std::string& file, const Rows& rows) {
  const auto sink = [&](const Sorted& known, std::size_t column, std::span<const std::byte> data,
                        const std::shared_ptr<const void>& memory) {
    if (column == 0) {
      finish();
      file_ = create(file, known);
    }
    write_later(column, data, memory);
  };
  rows_ = rows(sink);
  const auto samples = std::make_shared<std::vector<std::uint64_t>>(rows_.samples);
  write_later(pieces_.columns().size(), std::as_bytes(std::span(std::as_const(*samples))), samples);
  return rows_.faults;
}

void SortedFiles::finish() {
  queue_.wait(written_);
  if (!file_) return;
  file_->publish([&](hid_t group) {
    io::write_attribute(group, identity_note, identity_);
    io::write_attribute(group, rows_note, rows_.rows);
    io::write_attribute(group, samples_note, static_cast<index_t>(rows_.samples.size()));
    io::write_attribute(group, hash_before_note, io::checksum_text(rows_.hash_before));
    io::write_attribute(group, hash_after_note, io::checksum_text(rows_.hash_after));
  });
  if (noted_.empty()) note(folder_);
  note(file_->file());
  file_.reset();
}

SortedFile SortedFiles::load(const std::string& file) const {
  const io::Notes notes(file);
  const auto hash = [&](const char* note) { return std::stoull(notes.text(note), nullptr, 16); };
  SortedFile result{{notes.integer(rows_note), {}}, hash(hash_before_note), hash(hash_after_note)};
  const index_t count = notes.integer(samples_note);
  result.samples.words.resize(static_cast<std::size_t>(count));
  io::Column column{.name = {}, .path = samples_path, .info = {}};
  column.info.shape = {count};
  io::read_numbers(file, column, {0, count}, Element::u64,
                   reinterpret_cast<std::byte*>(result.samples.words.data()));
  return result;
}

}  // namespace tessera::inline v1::workloads::sort
