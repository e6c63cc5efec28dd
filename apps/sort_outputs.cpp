#include "sort_outputs.hpp"

#include <algorithm>

#include "mpi/agreement.hpp"

namespace tessera::apps::sort {

std::size_t Outputs::add(const io::DatasetName& name, index_t n, io::Handle type) {
  auto file = std::find_if(files_.begin(), files_.end(), [&](const File& f) { return f.name == name.file; });
  if (file == files_.end()) file = files_.insert(files_.end(), File{name.file, {}, nullptr});
  file->specs.push_back({name.path, {n}, type, {}});
  places_.push_back({static_cast<std::size_t>(file - files_.begin()), file->specs.size() - 1});
  types_.push_back(std::move(type));
  return places_.size() - 1;
}

std::size_t Outputs::add(const io::DatasetName& name, index_t n, Element element) {
  return add(name, n, io::owned_type(element));
}

void Outputs::open(const mpi::Communicator& comm, const run::Values& point) {
  using Existing = io::OutputFile::Existing;
  for (File& file : files_) {
    file.file = std::make_unique<io::OutputFile>(
        comm, file.name, file.specs, point.flag("overwrite") ? Existing::replace : Existing::refuse);
  }
}

void Outputs::write(std::size_t dataset, index_t first, std::span<const std::byte> data) {
  const Place& place = places_[dataset];
  files_[place.file].file->write(place.dataset, first, data);
}

void Outputs::check(const run::Values& point) {
  using ReadBack = io::OutputFile::ReadBack;
  const std::string& amount = point.text("verify-output");
  const ReadBack how = amount == "all"      ? ReadBack::all
                       : amount == "sample" ? ReadBack::sample
                       : amount == "off"    ? ReadBack::off
                                            : ReadBack::automatic;
  for (File& file : files_) file.file->check_written(how);
}

void Outputs::publish(const std::map<std::string, io::Value>& attributes) {
  for (File& file : files_) {
    file.file->publish([&](hid_t group) {
      for (const auto& [name, value] : attributes)
        std::visit([&](const auto& v) { io::write_attribute(group, name, v); }, value);
    });
  }
}

}  // namespace tessera::apps::sort
