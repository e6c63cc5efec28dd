#pragma once
// Rows in scratch files that another attempt of the same sort finds: the runs of an out-of-core
// sort, sorted or divided, and its parts where each key is wanted once. They are not brought to the
// device: what is wanted of them is that the next attempt, or the next minute, finds them in the
// file cache. Whoever finds them at the start compares them with their checksums, for the machine
// may have gone down in between.

#include "dist/sort/external.hpp"
#include "io/output_file.hpp"
#include "workloads/sort/external/pieces.hpp"

namespace tessera::workloads::sort {

/// What a file is a part of: another attempt may use it if this is the same.
[[nodiscard]] std::string identity_of(const Inputs& inputs, const Problem& problem,
                                      const dist::sort::RunPlan& plan, const Pieces& pieces);

/// The folder of a sort's runs: in --scratch, or beside its output.
[[nodiscard]] std::string folder_of_runs(const run::Values& values);

/// What a finished file tells of its rows.
struct SortedFile {
  dist::sort::RunSamples samples;
  std::uint64_t hash_before = 0, hash_after = 0;  ///< as in Sorted
};

/// A lock on a folder: of the process that has it open, so that it ends with it however that ends.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();
  /// False where another process has it. File systems that lock no folders keep nobody out.
  [[nodiscard]] bool take(const std::string& folder);
  [[nodiscard]] bool held() const { return folder_ >= 0; }

 private:
  int folder_ = -1;
};

/// All calls are local.
class SortedFiles {
 public:
  /// What a signal does that ends this process: a later attempt was asked for, or it was not.
  enum class OnSignal { keep, remove };
  SortedFiles(std::string folder, std::string identity, const Pieces& pieces, io::FileQueue& queue,
              OnSignal on_signal)
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
  /// Makes the folder and keeps other sorts out of it while this object lives, or its process.
  /// Throws Error(cannot_create), also where another sort has it.
  void make_folder();
  /// With the runs and parts in it, and nothing else.
  void remove_folder() const;
  /// Where it is this sort's, and nothing is in it.
  void remove_empty_folder() const;
  /// What make() began and finish() did not end. Nothing may be under way in the queue.
  void drop_unfinished() { file_.reset(); }

  /// Whether a finished file of the same sort is there, undamaged.
  [[nodiscard]] bool has(const std::string& file) const;
  /// Writes rows to a file, those that `rows` makes and hands on. It has its name when the next one
  /// is made, or at finish(). Returns its faults.
  using Rows = std::function<Sorted(const Pieces::Sink&)>;
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
  const Pieces& pieces_;
  std::unique_ptr<io::OutputFile> file_;  // that is being written,
  Sorted rows_;                           // and what it holds
  io::FileQueue& queue_;
  io::FileQueue::Ticket written_;  // all of it
};

}  // namespace tessera::workloads::sort
