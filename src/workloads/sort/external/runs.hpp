#pragma once
// Scratch files that another attempt of the same sort finds: the runs of an out-of-core sort,
// sorted or divided, and its parts for --unique. They are not synced to the device: their purpose
// is that the next attempt, or the next minute, finds them in the file cache. An attempt that finds
// them at its start compares their checksums, since the machine may have crashed in between.

#include "dist/sort/external.hpp"
#include "io/output_file.hpp"
#include "workloads/sort/external/pieces.hpp"

namespace tessera::inline v1::workloads::sort {

/// Returns the identity of the sort that a file belongs to: another attempt may use the file if it
/// is equal.
[[nodiscard]] std::string identity_of(const Inputs& inputs, const Problem& problem,
                                      const dist::sort::RunPlan& plan, const RowPieces& pieces);

/// Returns the folder of a sort's runs: in --scratch, or next to its output.
[[nodiscard]] std::string folder_of_runs(const run::Values& values);

/// The results stored in a finished file.
struct SortedFile {
  dist::sort::RunSamples samples;
  std::uint64_t hash_before = 0, hash_after = 0;  ///< as in Sorted
};

/// A lock on a folder, released when the owning process ends, however it ends.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();
  /// Returns false if another process has it; always true on file systems that do not lock folders.
  [[nodiscard]] bool take(const std::string& folder);
  [[nodiscard]] bool held() const { return folder_ >= 0; }

 private:
  int folder_ = -1;
};

/// The scratch files of a sort. All calls are local.
class SortedFiles {
 public:
  /// The action on a signal that ends this process: keep the files for a later attempt, or remove
  /// them.
  enum class OnSignal { keep, remove };
  SortedFiles(std::string folder, std::string identity, const RowPieces& pieces,
              io::FileQueue& queue, OnSignal on_signal)
      : folder_(std::move(folder)),
        identity_(std::move(identity)),
        on_signal_(on_signal),
        pieces_(pieces),
        queue_(queue) {}
  ~SortedFiles();
  SortedFiles(const SortedFiles&) = delete;
  SortedFiles& operator=(const SortedFiles&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string run(index_t number) const;
  [[nodiscard]] std::string part(index_t number) const;
  /// Returns the name of the file with the order of the rows (content.hpp).
  [[nodiscard]] std::string order() const;
  /// Creates the folder and locks it against other sorts while this object, or its process, exists.
  /// Throws Error(cannot_create), also if another sort holds it.
  void make_folder();
  /// Removes the folder with its runs and parts, but no other files.
  void remove_folder() const;
  /// Removes the folder if this sort holds it and it is empty.
  void remove_empty_folder() const;
  /// Discards the file that make() started and finish() did not complete. Precondition: the queue
  /// is idle.
  void drop_unfinished() { file_.reset(); }

  /// Returns whether an intact finished file of the same sort exists.
  [[nodiscard]] bool has(const std::string& file) const;
  /// Writes the rows that `rows` makes and passes on to a file. The file gets its name when the
  /// next one is made, or in finish(). Returns its faults.
  using Rows = std::function<Sorted(const RowPieces::Sink&)>;
  index_t make(const std::string& file, const Rows& rows);
  void finish();
  [[nodiscard]] SortedFile load(const std::string& file) const;

 private:
  [[nodiscard]] std::unique_ptr<io::OutputFile> create(const std::string& file,
                                                       const Sorted& rows) const;

  void note(const std::string& path);
  void write_later(std::size_t dataset, std::span<const std::byte> data,
                   std::shared_ptr<const void> memory);

  std::string folder_, identity_;
  OnSignal on_signal_;
  std::vector<std::string> noted_;  // for a signal
  FolderLock lock_;
  const RowPieces& pieces_;
  std::unique_ptr<io::OutputFile> file_;  // being written
  Sorted rows_;                           // its contents
  io::FileQueue& queue_;
  io::FileQueue::Ticket written_;  // its last write
};

}  // namespace tessera::inline v1::workloads::sort
