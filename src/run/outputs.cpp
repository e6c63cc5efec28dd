#include "run/outputs.hpp"
#include "base/note.hpp"
#include "base/progress.hpp"
#include "base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/contents.hpp"
#include "io/probe.hpp"
#include "io/raw_file.hpp"
#include "io/type_name.hpp"
#include "mpi/agreement.hpp"
#include "run/answer.hpp"

namespace tessera::inline v1::run {

namespace {

/// Returns whether two names denote the same file, which need not exist.
bool same_place(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b ||
         std::filesystem::weakly_canonical(std::filesystem::absolute(a, ignored), ignored) ==
             std::filesystem::weakly_canonical(std::filesystem::absolute(b, ignored), ignored);
}

/// Returns the bytes that a dataset takes in its file. Local.
index_t stored_bytes_of(const std::string& file, const io::DatasetSpec& spec) {
  return spec.storage.is_chunked() ? io::stored_bytes({file, spec.path}) : io::bytes_of(spec);
}

/// Returns "written: c.h5:/C, 122 KiB", with the ratio where the datasets are compressed.
std::string text_of_written(const std::string& file, const std::vector<io::DatasetSpec>& specs,
                            bool is_added) {
  double bytes = 0, stored = 0;
  for (const io::DatasetSpec& spec : specs) {
    bytes += static_cast<double>(io::bytes_of(spec));
    stored += static_cast<double>(stored_bytes_of(file, spec));
  }
  const std::string what =
      specs.size() == 1 ? ":" + specs.front().path : fmt::format(" ({} datasets)", specs.size());
  const std::string ratio =
      stored > 0 && stored < bytes
          ? fmt::format(" compressed from {} ({:.1f} to 1)", human_bytes(bytes), bytes / stored)
          : "";
  return fmt::format("written: {}{}, {}{}{}", file, what, human_bytes(stored), ratio,
                     is_added ? ", added to the existing file" : "");
}

/// Adds the datasets of a file to the member "outputs" of --json. Local.
void answer_outputs(const std::string& file, const std::vector<io::DatasetSpec>& specs,
                    bool is_added) {
  if (!answer().is_json()) return;
  for (const io::DatasetSpec& spec : specs)
    answer().append("outputs", {{"file", file},
                                {"path", spec.path},
                                {"shape", spec.shape},
                                {"type", io::type_name(spec.type)},
                                {"bytes", io::bytes_of(spec)},
                                {"stored_bytes", stored_bytes_of(file, spec)},
                                {"added", is_added}});
}

/// Notes the outputs to which the requested storage does not apply. Local.
void note_contiguous(const std::string& file, const std::vector<io::DatasetSpec>& specs) {
  std::vector<std::string> paths;
  for (const io::DatasetSpec& spec : specs)
    if (!io::is_self_contained(spec.type)) paths.push_back(spec.path);
  if (paths.empty()) return;
  const std::string more = paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "";
  print_note(
      fmt::format("note: not compressed: {}:{}{} (elements of variable length and references)",
                  file, paths.front(), more));
}

}  // namespace

std::size_t Outputs::add(const io::DatasetName& name, std::vector<index_t> shape, io::Handle type,
                         std::vector<std::string> dimensions) {
  auto file = std::find_if(files_.begin(), files_.end(),
                           [&](const File& f) { return same_place(f.name, name.file); });
  if (file == files_.end()) file = files_.insert(files_.end(), File{name.file, {}, {}, nullptr});
  file->specs.push_back({name.path, std::move(shape), type, std::move(dimensions)});
  file->origins.emplace_back();
  places_.push_back({static_cast<std::size_t>(file - files_.begin()), file->specs.size() - 1});
  types_.push_back(std::move(type));
  return places_.size() - 1;
}

std::size_t Outputs::add(const io::DatasetName& name, std::vector<index_t> shape, Element element,
                         std::vector<std::string> dimensions) {
  return add(name, std::move(shape), io::owned_type(element), std::move(dimensions));
}

io::DatasetSpec& Outputs::spec(std::size_t dataset) {
  return files_[places_[dataset].file].specs[places_[dataset].dataset];
}

void Outputs::describe_as(std::size_t dataset, const io::DatasetName& input) {
  spec(dataset).attributes.push_back({spec(dataset).path, input});
  store_as(dataset, {input});
}

void Outputs::store_as(std::size_t dataset, StorageOrigin origin) {
  const Destination& place = places_[dataset];
  files_[place.file].origins[place.dataset] = std::move(origin);
}

std::string Outputs::group_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(1, path.rfind('/')));
}

void Outputs::describe_groups_as(std::size_t dataset, std::string to, const io::DatasetName& from) {
  std::string group = from.path;
  for (bool innermost = true;; innermost = false) {
    if (!innermost && (to == "/") != (group == "/")) return;
    spec(dataset).attributes.push_back({to, {from.file, group}});
    if (to == "/" || group == "/") return;
    to = group_of(to);
    group = group_of(group);
  }
}

void Outputs::place_as(std::size_t dataset, io::CoordinatesOf input) {
  describe_groups_as(dataset, group_of(spec(dataset).path),
                     {input.from.file, group_of(input.from.path)});
  spec(dataset).coordinates = std::move(input);
}

void Outputs::keep(const mpi::Communicator& comm, const Values& point, const std::string& problem,
                   const std::string& state) {
  mpi::together(comm, "write", [&] { check(point); });
  for (File& file : files_) file.file->keep(problem, state);
}

void Outputs::open(const mpi::Communicator& comm, const Values& point, const std::string& problem) {
  using Existing = io::OutputFile::Existing;
  const auto choose_storage = [&] {
    const StorageRequest request(point.text("compress"), point.text("chunks"), point.text("like"));
    for (File& file : files_) {
      for (std::size_t d = 0; d < file.specs.size(); ++d)
        file.specs[d].storage = request.of(file.specs[d], file.origins[d]);
      if (request.given() && comm.is_root()) note_contiguous(file.name, file.specs);
    }
  };
  if (files_.empty() && point.text("like").empty())  // no file is read, whose reading may fail
    mpi::alike("create output", choose_storage);
  else
    mpi::together(comm, "create output", choose_storage);
  for (File& file : files_) {
    mpi::on_root(comm, "create output", [&] {
      for (io::DatasetSpec& spec : file.specs) {
        spec.geometry = io::geometry_of(spec);
        spec.image = spec.image || spec.geometry;
      }
      io::require_file_or_nothing(file.name, "output");
      if (io::file_exists(io::behind_links(file.name))) io::probe_output(file.name);
    });
    file.file = std::make_unique<io::OutputFile>(
        comm, file.name, file.specs, point.flag("overwrite") ? Existing::replace : Existing::refuse,
        problem);
  }
}

void Outputs::write(std::size_t dataset, index_t first, std::span<const std::byte> data,
                    const io::Onlooker& onlooker) {
  const Destination& place = places_[dataset];
  files_[place.file].file->write(place.dataset, first, data, onlooker);
}

void Outputs::write_slab(std::size_t dataset, std::span<const layout::Range> slab,
                         std::span<const std::byte> data) {
  const Destination& place = places_[dataset];
  files_[place.file].file->write_slab(place.dataset, slab, data);
}

void Outputs::write_rows_of(std::size_t dataset, const io::DatasetName& from,
                            const io::RowOrder& order) {
  const Destination& place = places_[dataset];
  files_[place.file].file->write_rows_of(place.dataset, from, order);
}

void Outputs::read_slab(std::size_t dataset, std::span<const layout::Range> slab,
                        std::span<std::byte> data) const {
  const Destination& place = places_[dataset];
  files_[place.file].file->read_slab(place.dataset, slab, data);
}

/// Returns the mean bytes that a rank writes.
double Outputs::bytes_of_a_rank(const mpi::Communicator& comm) const {
  double all = 0;
  for (const File& file : files_)
    for (const io::DatasetSpec& spec : file.specs) all += static_cast<double>(io::bytes_of(spec));
  return all / comm.size();
}

bool Outputs::conclude(const mpi::Communicator& comm, const Values& point, Session& session,
                       Measured& measured, const std::function<void()>& write) {
  const bool right = !measured.verdict || measured.verdict->passed();
  const bool writes = right && !empty();
  if (writes) {
    mpi::together(comm, "write", [&] {
      const mpi::PhaseScope scope(measured.once, "write");
      const Progress progress("write", bytes_of_a_rank(comm), Progress::Counts::bytes_written);
      write();
      check(point);
    });
    {
      const mpi::PhaseScope scope(measured.once, "publish");
      publish(session.attributes(measured));
    }
  }
  session.record(point, measured);
  if (writes && comm.is_root()) {
    clear_progress_line();
    for (const File& file : files_) {
      answer_outputs(file.name, file.specs, file.file->is_guest());
      fmt::print("{}\n", text_of_written(file.name, file.specs, file.file->is_guest()));
    }
  }
  return right;
}

void Outputs::check(const Values& point) {
  using ReadBack = io::OutputFile::ReadBack;
  const std::string& amount = point.text("verify-output");
  const ReadBack how = amount == "all"      ? ReadBack::all
                       : amount == "sample" ? ReadBack::sample
                       : amount == "off"    ? ReadBack::off
                                            : ReadBack::automatic;
  const int threads = std::max(2, threads_of(point));  // threads that wait for files do not compute
  for (File& file : files_) file.file->check_written(how, threads);
}

void Outputs::publish(const std::map<std::string, io::Value>& attributes) {
  for (File& file : files_) {
    file.file->publish([&](hid_t group) {
      for (const auto& [name, value] : attributes)
        std::visit([&, &key = name](const auto& v) { io::write_attribute(group, key, v); }, value);
    });
  }
}

}  // namespace tessera::inline v1::run
