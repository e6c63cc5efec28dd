// Results: what a file holds after runs have been appended at once and by a RunWriter.

#include "io/results.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "io/h5.hpp"
#include "io/run_writer.hpp"
#include "io/schema.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;

/// A folder that is removed at the end of the test.
class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

 private:
  fs::path path_ = fs::temp_directory_path() / ("tessera_results_test_" + std::to_string(getpid()));
};

Row row(index_t n, const char* point) {
  return {{"n", n, ""},
          {"seconds", 0.5 * static_cast<double>(n), "s"},
          {"point", std::string(point), ""}};
}

TEST(Results, AppendKeepsWhatWasThere) {
  const Folder folder;
  const std::string file = folder.file("sub/r.h5");
  EXPECT_EQ(append_new_run(file, "matmul", {{"seed", index_t{1}}},
                           {{schema::summary, {row(1, "a"), row(2, "b")}}}),
            "matmul_0001");
  append_results(file, "matmul_0001", {}, {{schema::summary, {row(3, "c")}}});
  EXPECT_EQ(append_new_run(file, "matmul", {}, {{schema::summary, {row(4, "d")}}}), "matmul_0002");
  EXPECT_EQ(text_column(file, schema::summary, "point"),
            (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_TRUE(text_column(folder.file("none.h5"), schema::summary, "point").empty());
}

TEST(Results, AreNotAddedToAFileOfData) {
  const Folder folder;
  const std::string file = folder.file("data.h5");
  {
    const Handle data(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle group(H5Gcreate2(data, "mine", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  }
  const auto before = fs::last_write_time(file);
  EXPECT_THROW((void)append_new_run(file, "matmul", {}, {}), Error);
  EXPECT_THROW(append_results(file, "matmul_0001", {}, {}), Error);
  EXPECT_EQ(fs::last_write_time(file), before);
}

TEST(RunWriter, KeepsTheOrderAndTheFirstRowsAreThereAtOnce) {
  const Folder folder;
  const std::string file = folder.file("r.h5");
  const std::map<std::string, Value> workload = {{"workload", std::string("matmul")}};
  (void)append_new_run(file, "matmul", workload, {{schema::summary, {row(1, "other")}}});
  constexpr index_t count = 500;
  {
    RunWriter writer(file, "matmul");
    EXPECT_EQ(writer.run(), "");
    for (index_t n = 1; n <= count; ++n) {
      auto attributes = workload;
      attributes["points"] = n;
      writer.add(attributes, {{schema::summary, {row(n, "mine")}},
                              {schema::phases, {row(n, "a"), row(n, "b")}}});
      EXPECT_EQ(writer.run(), "matmul_0002");
      if (n > 1) continue;
      EXPECT_EQ(text_column(file, schema::phases, "point").size(), 2U);
    }
  }
  const io::Run run = read_runs(file).at(1);
  EXPECT_EQ(std::get<index_t>(run.attributes.at("points")), count);
  for (const TableRows& table : run.tables) {
    const std::size_t each = table.table == schema::phases ? 2 : 1;
    ASSERT_EQ(table.rows.size(), each * static_cast<std::size_t>(count));
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const auto n = std::find_if(table.rows[r].begin(), table.rows[r].end(),
                                  [](const Cell& cell) { return cell.column == "n"; });
      ASSERT_NE(n, table.rows[r].end());
      EXPECT_EQ(std::get<index_t>(n->value), static_cast<index_t>(r / each) + 1);
    }
  }
}

TEST(RunWriter, CopiesTheFileSeldom) {
  const Folder folder;
  const std::string file = folder.file("r.h5");
  RunWriter writer(file, "sort");
  int copies = 0;
  ino_t before = 0;
  for (index_t n = 0; n < 1000; ++n) {
    writer.add({}, {{schema::summary, {row(n, "p")}}});
    struct stat now {};
    ASSERT_EQ(stat(file.c_str(), &now), 0);
    copies += now.st_ino != before ? 1 : 0;
    before = now.st_ino;
  }
  EXPECT_LT(copies, 500);
  writer.store();
  EXPECT_EQ(text_column(file, schema::summary, "point").size(), 1000U);
}

TEST(RunWriter, RowsOfOtherColumnsAreRefusedAsByAppending) {
  const Folder folder;
  RunWriter writer(folder.file("r.h5"), "sort");
  writer.add({}, {{schema::summary, {row(1, "a")}}});
  writer.add({}, {{schema::summary, {{{"m", index_t{1}, ""}}}}});
  EXPECT_THROW(writer.store(), Error);
  writer.store();  // nothing is left
}

TEST(RunWriter, ReportsAFileThatCannotBeMade) {
  RunWriter writer("/proc/nothing/r.h5", "sort");
  EXPECT_THROW(writer.add({}, {{schema::summary, {row(1, "a")}}}), Error);
}

}  // namespace
}  // namespace tessera::io
