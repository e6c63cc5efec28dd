#pragma once
// The files that a sort writes: datasets that name the same file share one.

#include <memory>
#include <string>
#include <vector>

#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "run/session.hpp"

namespace tessera::apps::sort {

class Outputs {
 public:
  /// A dataset of n elements to be written; returns its number. Before open().
  [[nodiscard]] std::size_t add(const io::DatasetName& name, index_t n, io::Handle type);
  [[nodiscard]] std::size_t add(const io::DatasetName& name, index_t n, Element element);

  /// Collective; throws AgreedError.
  void open(const mpi::Communicator& comm, const run::Values& point);
  /// Whole elements from position first on. Local.
  void write(std::size_t dataset, index_t first, std::span<const std::byte> data);
  /// Reads back what was written, as --verify-output says. Local.
  void check(const run::Values& point);
  /// Collective.
  void publish(const std::map<std::string, io::Value>& attributes);

  [[nodiscard]] bool empty() const { return places_.empty(); }

 private:
  struct File {
    std::string name;
    std::vector<io::DatasetSpec> specs;
    std::unique_ptr<io::OutputFile> file;
  };
  struct Place {
    std::size_t file, dataset;
  };
  std::vector<io::Handle> types_;
  std::vector<File> files_;
  std::vector<Place> places_;
};

}  // namespace tessera::apps::sort
