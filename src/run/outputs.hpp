#pragma once
// Output files of one point; datasets that name the same file share it.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "run/session.hpp"
#include "run/storage.hpp"

namespace tessera::inline v1::run {

class Outputs {
 public:
  /// Declares a dataset, with a name per dimension or none; returns its number. Before open().
  std::size_t add(const io::DatasetName& name, std::vector<index_t> shape, io::Handle type,
                  std::vector<std::string> dimensions = {});
  std::size_t add(const io::DatasetName& name, std::vector<index_t> shape, Element element,
                  std::vector<std::string> dimensions = {});

  /// Copies the attributes of an input dataset, which --like input refers to, to an added one.
  /// Before open().
  void describe_as(std::size_t dataset, const io::DatasetName& input);
  /// Copies the attributes of the input's group `from` to the output's group `to` above an added
  /// dataset, and of the groups above to each other, of files' roots only to roots. Before open().
  void describe_groups_as(std::size_t dataset, std::string to, const io::DatasetName& from);
  /// Copies the coordinates of an input dataset along with its groups' attributes. Before open().
  void place_as(std::size_t dataset, io::CoordinatesOf input);

  /// Returns the path of the group that contains an object.
  [[nodiscard]] static std::string group_of(const std::string& path);

  /// Names the input that --like input refers to. Before open().
  void store_as(std::size_t dataset, StorageOrigin origin);

  /// Returns the specification of an added dataset for further settings. Before open().
  [[nodiscard]] io::DatasetSpec& spec(std::size_t dataset);

  /// Creates the partial files, so that unwritable outputs fail before the computation. Collective;
  /// throws AgreedError.
  void open(const mpi::Communicator& comm, const Values& point) { open(comm, point, ""); }
  /// Creates them, or continues the files that keep() left for the same problem.
  void open(const mpi::Communicator& comm, const Values& point, const std::string& problem);
  /// Returns the state passed to keep() for the first file; empty in a new one.
  [[nodiscard]] const std::string& kept() const { return files_.front().file->kept(); }
  /// Reads back the written data and leaves the files to a later open() of the same problem.
  /// Collective.
  void keep(const mpi::Communicator& comm, const Values& point, const std::string& problem,
            const std::string& state);
  /// Writes whole elements from position `first` on (row-major). Local.
  void write(std::size_t dataset, index_t first, std::span<const std::byte> data,
             const io::Onlooker& onlooker = {});
  /// Writes a slab, one range per dimension. Local, by one thread at a time.
  void write_slab(std::size_t dataset, std::span<const layout::Range> slab,
                  std::span<const std::byte> data);
  /// Writes rows of an input dataset whose elements are not self-contained. On rank 0.
  void write_rows_of(std::size_t dataset, const io::DatasetName& from, const io::RowOrder& order);
  /// Reads back a slab that this rank wrote. Local.
  void read_slab(std::size_t dataset, std::span<const layout::Range> slab,
                 std::span<std::byte> data) const;
  [[nodiscard]] bool empty() const { return files_.empty(); }

  /// Completes a point: if its check passed, runs write() and the read-back in phase "write", then
  /// renames the files to their final names. Records the point in either case. Returns whether the
  /// check passed. Collective.
  bool conclude(const mpi::Communicator& comm, const Values& point, Session& session,
                Measured& measured, const std::function<void()>& write);

 private:
  struct File {
    std::string name;
    std::vector<io::DatasetSpec> specs;
    std::vector<std::optional<StorageOrigin>> origins;  ///< of the datasets
    std::unique_ptr<io::OutputFile> file;
  };
  struct Destination {
    std::size_t file, dataset;
  };
  void check(const Values& point);
  [[nodiscard]] double bytes_of_a_rank(const mpi::Communicator& comm) const;
  void publish(const std::map<std::string, io::Value>& attributes);

  std::vector<io::Handle> types_;
  std::vector<File> files_;
  std::vector<Destination> places_;
};

}  // namespace tessera::inline v1::run
