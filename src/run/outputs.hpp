#pragma once
// The files that one point writes; datasets that name the same file share one.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "run/session.hpp"

namespace tessera::run {

class Outputs {
 public:
  /// A dataset to be written; returns its number. A name a dimension, or none. Before open().
  std::size_t add(const io::DatasetName& name, std::vector<index_t> shape, io::Handle type,
                  std::vector<std::string> dimensions = {});
  std::size_t add(const io::DatasetName& name, std::vector<index_t> shape, Element element,
                  std::vector<std::string> dimensions = {});

  /// The dataset that was added gets the attributes of this one of an input. Before open().
  void describe_as(std::size_t dataset, const io::DatasetName& input);
  /// The group that it lies in gets those of this one.
  void describe_group_as(std::size_t dataset, const io::DatasetName& input);

  /// What was added, to say more of it. Before open().
  [[nodiscard]] io::DatasetSpec& spec(std::size_t dataset);

  /// Makes the partial files, so that what cannot be written is known before anything is computed.
  /// Collective; throws AgreedError.
  void open(const mpi::Communicator& comm, const Values& point) { open(comm, point, ""); }
  /// The same, but goes on with what keep() left of the same problem, if it did.
  void open(const mpi::Communicator& comm, const Values& point, const std::string& problem);
  /// What keep() was told of the first file; empty in a new one.
  [[nodiscard]] const std::string& kept() const { return files_.front().file->kept(); }
  /// Reads back what was written and leaves it to a later open() of the same problem. Collective.
  void keep(const mpi::Communicator& comm, const Values& point, const std::string& problem,
            const std::string& state);
  /// Whole elements from position first on (row-major). Local.
  void write(std::size_t dataset, index_t first, std::span<const std::byte> data,
             const io::Onlooker& onlooker = {});
  /// A slab, a range a dimension. Local, by one thread at a time.
  void write_slab(std::size_t dataset, std::span<const layout::Range> slab,
                  std::span<const std::byte> data);
  /// The same slab back, of those that this rank wrote. Local.
  void read_slab(std::size_t dataset, std::span<const layout::Range> slab,
                 std::span<std::byte> data) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }

  /// Ends a point: if its check passed, runs write() and reads back in phase "write", then gives
  /// the files their names; records it in either case. Whether it is right. Collective.
  bool conclude(const mpi::Communicator& comm, const Values& point, Session& session,
                Measured& measured, const std::function<void()>& write);

 private:
  struct File {
    std::string name;
    std::vector<io::DatasetSpec> specs;
    std::unique_ptr<io::OutputFile> file;
  };
  struct Destination {
    std::size_t file, dataset;
  };
  void check(const Values& point);
  void publish(const std::map<std::string, io::Value>& attributes);

  std::vector<io::Handle> types_;
  std::vector<File> files_;
  std::vector<Destination> places_;
};

}  // namespace tessera::run
