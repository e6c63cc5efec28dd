#include "io/output_file.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <numeric>

#include "base/error.hpp"
#include "base/option_names.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "io/checksum.hpp"
#include "io/image.hpp"
#include "io/occupant.hpp"
#include "io/output_dataset.hpp"
#include "io/partials.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"
#include "io/small_copy.hpp"
#include "io/summed.hpp"
#include "mpi/agreement.hpp"
#include "mpi/heartbeat.hpp"
#include "mpi/runtime.hpp"

namespace tessera::inline v1::io {
namespace {

constexpr index_t piece_bytes = index_t{16} << 20;  // unit of checksums and heartbeats

}  // namespace

// Both delegate, so that the object is complete when open() begins: if it throws, the destructor
// removes the partial file.
OutputFile::OutputFile(const mpi::Communicator& comm, std::string file,
                       const std::vector<DatasetSpec>& specs, Existing existing, Sync sync)
    : OutputFile(comm, std::move(file), sync) {
  open(specs, existing, "");
}

OutputFile::OutputFile(const mpi::Communicator& comm, std::string file,
                       const std::vector<DatasetSpec>& specs, Existing existing,
                       const std::string& problem)
    : OutputFile(comm, std::move(file), Sync::on) {
  open(specs, existing, problem);
}

OutputFile::OutputFile(const mpi::Communicator& comm, std::string file, Sync sync)
    : comm_(comm), file_(std::move(file)), target_(behind_links(file_)), sync_(sync) {}

void OutputFile::open(const std::vector<DatasetSpec>& specs, Existing existing,
                      const std::string& problem) {
  const QuietErrors quiet;
  existing_ = existing;
  for (const DatasetSpec& spec : specs) {
    datasets_.push_back({spec.path, spec.shape, static_cast<index_t>(H5Tget_size(spec.type)), -1, 0,
                         0, spec.storage});
  }
  bool copies = false, resumes = false;
  mpi::on_root(comm_, "create output", [&] {
    resumes = begin(specs, problem);
    copies = !resumes && is_guest();
  });
  while (comm_.max(index_t{copies ? 1 : 0}) >
         0)  // all ranks, because those that wait for long appear to be stuck
    mpi::on_root(comm_, "copy output", [&] { copies = guest_->step(); });
  mpi::on_root(comm_, "create output", [&] {
    if (!resumes) create(specs);
  });
  partial_ = comm_.broadcast(partial_, 0);
  kept_ = comm_.broadcast(kept_, 0);
  scratch_ = scratch_of(partial_);
  for (Dataset& dataset : datasets_) comm_.broadcast(std::span(&dataset.offset, 1), 0);
}

bool OutputFile::begin(const std::vector<DatasetSpec>& specs, const std::string& problem) {
  require_file_or_nothing(file_, "output");
  const Occupant occupant = existing_ == Existing::known ? Occupant::nothing : occupant_of(target_);
  require(occupant != Occupant::ours || existing_ == Existing::replace, not_created,
          fmt::format("output '{}' exists; pass {} to replace the whole file, or another name",
                      file_, option_or("--overwrite", "Existing::replace")));
  require_free_paths(file_, specs);
  found_ = Guest::state_of(target_);
  if (occupant == Occupant::others)
    guest_ = std::make_unique<Guest>(
        target_, file_, specs,
        existing_ == Existing::replace ? Guest::Existing::replace : Guest::Existing::refuse);
  remove_abandoned(target_);
  partial_ = partial_name(target_);
  if (adopt(problem)) return true;
  if (is_guest()) guest_->copy_to(partial_);
  return false;
}

OutputFile::~OutputFile() {
  if (!comm_.is_root()) return;
  if (!published_) discard_partial(partial_);
  if (has_scratch()) discard_partial(scratch_of(partial_));
}

Handle OutputFile::create_file(const std::vector<DatasetSpec>& specs,
                               std::vector<DatasetPlace>& places) const {
  if (is_guest()) return guest_->open_copy(partial_, specs, places);
  const auto directory = directory_of(target_);
  require(std::filesystem::is_directory(directory), not_created,
          fmt::format("'{}' cannot be created: directory '{}' does not exist; create it first",
                      file_, directory));
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  set_data_alignment(access);
  const Handle list = creation_ordered(H5P_FILE_CREATE);
  return owned_file(h5_check(H5Fcreate(partial_.c_str(), H5F_ACC_EXCL, list, access), not_created,
                             fmt::format("'{}' cannot be created", file_)));
}

void OutputFile::create(const std::vector<DatasetSpec>& specs) {
  const QuietErrors quiet;
  std::vector<DatasetPlace> places(specs.size());
  {
    Handle out = create_file(specs, places);
    for (std::size_t d = 0; d < specs.size(); ++d)
      datasets_[d].offset = create_dataset(out, specs[d], places[d]);
    const std::vector<std::string> company = copy_company(out, specs, places);
    if (!is_guest()) link_images(out, specs);  // names in foreign files take precedence
    const Handle groups = creation_ordered(H5P_GROUP_CREATE);
    const bool there = H5Lexists(out, schema::group, H5P_DEFAULT) > 0;
    Handle group(h5_check(there ? H5Gopen2(out, schema::group, H5P_DEFAULT)
                                : H5Gcreate2(out, schema::group, H5P_DEFAULT, groups, H5P_DEFAULT),
                          not_created, "_tessera"),
                 H5Gclose);
    write_attribute(group, schema::state, std::string(schema::state_incomplete));
    write_attribute(group, schema::schema_version, index_t{schema::output_version});
    if (is_guest()) write_attribute(group, schema::guest, index_t{1});
    if (!is_guest() && !company.empty())
      write_attribute(group, schema::company, join(company, "\n"));
    group.reset();
    places.clear();
    close_written(out, not_created, fmt::format("'{}' cannot be created", file_));
  }
  if (has_scratch()) create_scratch();
  for (const Dataset& dataset : datasets_) {
    if (dataset.offset < 0) continue;
    const RawFile raw(file_of(dataset), RawFile::Mode::read_write);
    const index_t count =
        std::accumulate(dataset.shape.begin(), dataset.shape.end(), index_t{1},
                        [](index_t a, index_t b) { return checked_mul(a, b, "the output"); });
    raw.reserve(dataset.offset, checked_mul(count, dataset.element_bytes, "the output"));
  }
  if (sync_ == Sync::on) (void)RawFile(partial_, RawFile::Mode::read_write).sync();
}

void OutputFile::write_runs(const RawFile& raw, std::size_t which, const StridedRuns& runs,
                            std::span<const std::byte> data, const Onlooker& onlooker) {
  Dataset& dataset = datasets_[which];
  const index_t bytes = dataset.element_bytes;
  const auto size = static_cast<std::size_t>(runs.length * bytes);
  std::uint64_t sum = 0;
  synced_ = false;
  for (index_t r = 0; r < runs.count; ++r) {
    const index_t first = runs.first + r * runs.distance;
    sum += write_summed({raw, dataset.offset, bytes}, first,
                        data.subspan(static_cast<std::size_t>(r) * size, size), onlooker);
    mpi::heartbeat();
  }
  dataset.sum += sum;
  dataset.written += runs.length * runs.count;
  written_.push_back({which, runs, sum});
}

const OutputFile::Dataset& OutputFile::dataset_of(std::size_t which) const {
  require_argument(which < datasets_.size(), "dataset",
                   fmt::format("is {}: must be less than {}", which, datasets_.size()));
  return datasets_[which];
}

void OutputFile::require_slab(const Dataset& dataset, std::span<const layout::Range> slab,
                              std::size_t bytes) {
  bool inside = slab.size() == dataset.shape.size();
  index_t elements = 1;
  for (std::size_t d = 0; inside && d < slab.size(); ++d) {
    inside = slab[d].empty() || (slab[d].begin >= 0 && slab[d].end <= dataset.shape[d]);
    elements *= slab[d].empty() ? 0 : slab[d].size();
  }
  require_argument(
      inside, "slab",
      fmt::format("exceeds the {} dimensions of {}", dataset.shape.size(), dataset.path));
  require_argument(static_cast<index_t>(bytes) == elements * dataset.element_bytes, "data",
                   fmt::format("has {} bytes: must have {} elements of {} bytes", bytes, elements,
                               dataset.element_bytes));
}

void OutputFile::write(std::size_t which, index_t first_element, std::span<const std::byte> data,
                       const Onlooker& onlooker) {
  const Dataset& dataset = dataset_of(which);
  if (data.empty()) return;
  index_t all = 1;
  for (const index_t extent : dataset.shape) all *= extent;
  const auto elements_given = static_cast<index_t>(data.size()) / dataset.element_bytes;
  require_argument(static_cast<index_t>(data.size()) % dataset.element_bytes == 0, "data",
                   fmt::format("has {} bytes: must be a multiple of {}, the bytes of an element",
                               data.size(), dataset.element_bytes));
  require_argument(
      first_element >= 0 && first_element <= all && elements_given <= all - first_element,
      "first_element",
      fmt::format("is {}: {} elements from there on exceed the {} elements of {}", first_element,
                  elements_given, all, dataset.path));
  const index_t bytes = dataset.element_bytes;
  const index_t group = onlooker.elements;
  const index_t elements_at_once = std::max<index_t>(1, piece_bytes / bytes / group) * group;
  const RawFile raw(file_of(dataset), RawFile::Mode::read_write);
  while (!data.empty()) {
    const auto piece =
        data.first(std::min(data.size(), static_cast<std::size_t>(elements_at_once * bytes)));
    const index_t elements = static_cast<index_t>(piece.size()) / bytes;
    write_runs(raw, which, {first_element, elements, 1, elements}, piece, onlooker);
    if (sync_ == Sync::on && !dataset.storage.is_chunked())
      raw.will_sync(datasets_[which].offset + first_element * bytes,
                    static_cast<index_t>(piece.size()));
    first_element += elements;
    data = data.subspan(piece.size());
  }
}

void OutputFile::write_slab(std::size_t which, std::span<const layout::Range> slab,
                            std::span<const std::byte> data) {
  const Dataset& dataset = dataset_of(which);
  require_slab(dataset, slab, data.size());
  if (data.empty()) return;
  const RawFile raw(file_of(dataset), RawFile::Mode::read_write);
  for_each_runs(dataset.shape, slab, [&](const StridedRuns& runs) {
    const auto bytes = static_cast<std::size_t>(runs.length * runs.count * dataset.element_bytes);
    write_runs(raw, which, runs, data.first(bytes));
    data = data.subspan(bytes);
  });
}

void OutputFile::read_slab(std::size_t which, std::span<const layout::Range> slab,
                           std::span<std::byte> data) const {
  const Dataset& dataset = dataset_of(which);
  require_slab(dataset, slab, data.size());
  if (data.empty()) return;
  const RawFile raw(file_of(dataset), RawFile::Mode::read);
  for_each_runs(dataset.shape, slab, [&](const StridedRuns& runs) {
    for (index_t r = 0; r < runs.count; ++r) {
      const auto bytes = static_cast<std::size_t>(runs.length * dataset.element_bytes);
      raw.read_at(dataset.offset + (runs.first + r * runs.distance) * dataset.element_bytes,
                  data.first(bytes));
      data = data.subspan(bytes);
      mpi::heartbeat();
    }
  });
}

std::uint64_t OutputFile::sum_in_file(const RawFile& raw, const Written& written,
                                      std::vector<std::byte>& buffer) const {
  const Dataset& dataset = datasets_[written.dataset];
  const StridedRuns& runs = written.runs;
  std::uint64_t sum = 0;
  for (index_t r = 0; r < runs.count; ++r) {
    const index_t first = runs.first + r * runs.distance;
    sum += sum_stored({raw, dataset.offset, dataset.element_bytes}, {first, first + runs.length},
                      buffer);
    mpi::heartbeat();
  }
  return sum;
}

void OutputFile::sync_written() {
  if (!synced_ && sync_ == Sync::on) {
    (void)RawFile(partial_, RawFile::Mode::read_write).sync();
    if (has_scratch()) (void)RawFile(scratch_, RawFile::Mode::read_write).sync();
  }
  synced_ = true;
}

void OutputFile::check_written(ReadBack amount, int threads) {
  std::future<void> syncing = std::async(std::launch::async, [this] { sync_written(); });
  index_t total = 0;
  for (const auto& [dataset, runs, sum] : written_)
    total += runs.length * runs.count * datasets_[dataset].element_bytes;
  if (amount == ReadBack::automatic)
    amount = total <= (index_t{1} << 30) ? ReadBack::all : ReadBack::sample;
  const index_t step = amount == ReadBack::all ? 1 : std::max<index_t>(1, ssize(written_) / 16);
  const index_t some = amount == ReadBack::off || total == 0 ? 0 : ceil_div(ssize(written_), step);
  read_back_ = amount;
  const RawFile raw(partial_, RawFile::Mode::read);
  const RawFile scratch(has_scratch() ? scratch_ : partial_, RawFile::Mode::read);
  std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(threads));
  for_each_on_threads(threads, some, [&](index_t i, int thread) {
    const Written& written = written_[static_cast<std::size_t>(i * step)];
    const Dataset& dataset = datasets_[written.dataset];
    const RawFile& from = dataset.storage.is_chunked() ? scratch : raw;
    require(sum_in_file(from, written, buffers[static_cast<std::size_t>(thread)]) == written.sum,
            ExitCode::io,
            fmt::format("'{}' differs from the data written to it (at byte {}); check the device",
                        file_, dataset.offset + written.runs.first * dataset.element_bytes));
  });
  syncing.get();
}

void OutputFile::publish(const std::function<void(hid_t)>& annotate) {
  const QuietErrors quiet;
  mpi::together(comm_, "write", [&] { sync_written(); });
  write_chunks();
  for (Dataset& dataset : datasets_) {
    dataset.sum = comm_.sum(dataset.sum);
    dataset.written = comm_.sum(dataset.written);
  }
  mpi::on_root(comm_, "publish", [&] {
    for (const Dataset& d : datasets_) {
      const index_t count =
          std::accumulate(d.shape.begin(), d.shape.end(), index_t{1}, std::multiplies<>());
      require(d.written == count, ExitCode::internal,
              fmt::format("{} elements of '{}' were written: it has {}", d.written, d.path, count));
    }
    {
      Handle out =
          owned_file(h5_check(H5Fopen(partial_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), ExitCode::io,
                              fmt::format("'{}' cannot be completed", file_)));
      write_sums(out);
      note_run(out, annotate);
      close_written(out, ExitCode::io, fmt::format("'{}' cannot be completed", file_));
    }
    confirm_metadata();
    take_name();
    published_ = true;
  });
  published_ = true;
}

/// Records the run: in a foreign file, in a separate group per run.
void OutputFile::note_run(hid_t out, const std::function<void(hid_t)>& annotate) const {
  const Handle group(h5_check(H5Gopen2(out, schema::group, H5P_DEFAULT), ExitCode::io, "_tessera"),
                     H5Gclose);
  Handle own;
  if (is_guest()) {
    std::string name;
    for (int n = 1; name.empty() || H5Lexists(group, name.c_str(), H5P_DEFAULT) > 0; ++n)
      name = fmt::format("{}_{:04}", schema::added, n);
    own = Handle(h5_check(H5Gcreate2(group, name.c_str(), H5P_DEFAULT,
                                     creation_ordered(H5P_GROUP_CREATE), H5P_DEFAULT),
                          ExitCode::io, "group '" + name + "' cannot be created"),
                 H5Gclose);
  }
  const hid_t noted = is_guest() ? own : group;
  annotate(noted);
  std::vector<std::string> paths;
  for (const Dataset& dataset : datasets_) paths.push_back(dataset.path);
  write_attribute(noted, schema::datasets, join(paths, "\n"));
  write_attribute(group, schema::state, std::string(schema::state_complete));
}

void OutputFile::take_name() const {
  if (is_guest()) return guest_->publish(partial_);
  if (existing_ == Existing::refuse) return publish_new_file(partial_, target_);
  if (existing_ == Existing::replace && Guest::state_of(target_) != found_)
    require(occupant_of(target_) != Occupant::others, not_created,
            fmt::format("'{}' was concurrently created and is left unchanged; rerun the command",
                        file_));
  sync_ == Sync::on ? publish_file(partial_, target_) : rename_file(partial_, target_);
}

void OutputFile::write_sums(hid_t out) const {
  for (const Dataset& d : datasets_) {
    const Handle dataset(h5_check(H5Dopen2(out, d.path.c_str(), H5P_DEFAULT), ExitCode::io, d.path),
                         H5Dclose);
    write_attribute(dataset, schema::checksum, checksum_text(d.sum));
  }
}

}  // namespace tessera::inline v1::io
