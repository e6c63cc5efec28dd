#pragma once
// Sorted rows in scratch files that another attempt of the same sort finds: the runs of an out-of-core sort,
// and its parts where each key is wanted once.

#include <future>

#include "dist/sort/external.hpp"
#include "io/output_file.hpp"
#include "sort_pieces.hpp"

namespace tessera::apps::sort {

/// One write at a time beside whatever else is done; plain writes, no HDF5 call among them.
class LaterWrite {
 public:
  template <class Write>
  void start(Write write) {
    wait();
    writing_ = std::async(std::launch::async, std::move(write));
  }
  /// Throws what the write threw.
  void wait() {
    if (writing_.valid()) writing_.get();
  }

 private:
  std::future<void> writing_;  // its destructor waits
};

/// What a file is a part of: another attempt may use it if this is the same.
[[nodiscard]] std::string identity_of(const Inputs& inputs, const Request& request,
                                      const dist::sort::RunPlan& plan, const Pieces& pieces);

/// What a finished file tells of its rows.
struct SortedFile {
  dist::sort::RunSamples samples;
  std::uint64_t hash_before = 0, hash_after = 0;  ///< as in Sorted
};

/// All calls are local.
class SortedFiles {
 public:
  SortedFiles(std::string folder, std::string identity, Pieces& pieces)
      : folder_(std::move(folder)), identity_(std::move(identity)), pieces_(pieces) {}

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string run(index_t number) const;
  [[nodiscard]] std::string part(index_t number) const;
  /// Throws Error(cannot_create).
  void make_folder() const;
  void remove_folder() const;

  /// Whether a finished file of the same sort is there.
  [[nodiscard]] bool has(const std::string& file) const;
  /// Sorts rows into a file. It has its name when the next one is made, or at finish(). Returns its faults.
  index_t make(const std::string& file, std::span<const Slice> slices, index_t most, index_t step,
               mpi::Phases& phases);
  void finish();
  [[nodiscard]] SortedFile load(const std::string& file) const;

 private:
  [[nodiscard]] std::unique_ptr<io::OutputFile> create(const std::string& file, const Sorted& rows) const;

  std::string folder_, identity_;
  Pieces& pieces_;
  std::unique_ptr<io::OutputFile> file_;  // that is being written,
  Sorted rows_;                           // and what it holds
  LaterWrite writing_;
};

}  // namespace tessera::apps::sort
