#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "io/conversion.hpp"
#include "io/dataset.hpp"
#include "io/number_types.hpp"
#include "io/output_file.hpp"
#include "io/raw_file.hpp"
#include "io/schema.hpp"
#include "io/type_name.hpp"
#include "io/verify_file.hpp"
#include "layout/matrix_layout.hpp"
#include "machine/buffer.hpp"
#include "mpi/agreement.hpp"

namespace tessera::io {
namespace {

namespace fs = std::filesystem;

/// Folder shared by all ranks and removed at the end of the test.
class Folder {
 public:
  Folder() {
    path_ = (fs::temp_directory_path() / ("tessera_io_test_" + std::to_string(getpid()))).string();
    path_ = comm_.broadcast(path_, 0);
    if (comm_.is_root()) fs::create_directories(path_);
    comm_.barrier();
  }
  ~Folder() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.is_root()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const mpi::Communicator& comm() const { return comm_; }
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    return names;
  }

 private:
  mpi::Communicator comm_ = mpi::Communicator::world();
  std::string path_;
};

/// Returns the positions of a slab's elements in the array.
std::vector<double> positions(const std::vector<index_t>& shape,
                              const std::vector<layout::Range>& slab) {
  std::vector<double> result{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<double> longer;
    for (const double prefix : result) {
      for (index_t i = slab[d].begin; i < slab[d].end; ++i)
        longer.push_back(prefix * static_cast<double>(shape[d]) + static_cast<double>(i));
    }
    result = longer;
  }
  return result;
}

template <class Body>
void for_each_tile(const std::vector<index_t>& shape, const std::vector<index_t>& tile,
                   const Body& body, std::vector<layout::Range> slab = {}) {
  const std::size_t d = slab.size();
  if (d == shape.size()) return body(slab);
  for (index_t i = 0; i < shape[d]; i += tile[d]) {
    auto deeper = slab;
    deeper.push_back({i, std::min(shape[d], i + tile[d])});
    for_each_tile(shape, tile, body, deeper);
  }
}

/// Writes a matrix whose element (i, j) is 1000 i + j.
void write_matrix(const Folder& folder, const std::string& file, index_t rows, index_t cols,
                  OutputFile::Existing existing = OutputFile::Existing::refuse) {
  const auto& comm = folder.comm();
  OutputFile out(comm, file,
                 {{"/group/M", {rows, cols}, native_type(Element::f64), {"row", "col"}}}, existing);
  const layout::Box box = layout::row_blocks(rows, cols, comm.size()).of(comm.rank());
  machine::Buffer<double> data(box.area());
  for (index_t i = 0; i < box.area(); ++i) {
    data[i] = static_cast<double>(1000 * (box.rows.begin + i / cols) + i % cols);
  }
  mpi::together(comm, "write", [&] {
    const layout::Range slab[] = {box.rows, box.cols};
    out.write_slab(0, slab, std::as_bytes(std::as_const(data).span()));
    out.check_written(OutputFile::ReadBack::all);
  });
  out.publish([](hid_t group) { write_attribute(group, "note", std::string("hello")); });
}

TEST(ReadSlab, KeepsTheStoredTypeAndTakesAnyDimension) {
  const Folder folder;
  const std::string file = folder.file("slab.h5");
  const index_t extents[] = {3, 4, 5};
  if (folder.comm().is_root()) {
    const Handle out(H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hsize_t shape[] = {3, 4, 5};
    const Handle space(H5Screate_simple(3, shape, nullptr), H5Sclose);
    const Handle dataset(
        H5Dcreate2(out, "/U", H5T_STD_I16BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    std::vector<std::int16_t> values(60);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int16_t>(i + 300);
    H5Dwrite(dataset, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  folder.comm().barrier();
  const DatasetName name{file, "/U"};
  const layout::Range slab[] = {{1, 3}, {0, 2}, {2, 5}};
  const Handle stored = stored_type(name);
  std::vector<std::uint8_t> raw(2 * 2 * 3 * 2);
  read_slab(name, slab, {stored, raw.data(), 2, 3});
  std::vector<std::int32_t> wide(2 * 2 * 4, -1);  // leading dimension 4, of which 3 are read
  read_slab(name, slab, {H5T_NATIVE_INT32, wide.data(), 4, 4});
  for (index_t i = 0; i < 2; ++i) {
    for (index_t j = 0; j < 2; ++j) {
      for (index_t k = 0; k < 3; ++k) {
        const index_t want = 300 + ((1 + i) * extents[1] + j) * extents[2] + 2 + k;
        const auto at = static_cast<std::size_t>((i * 2 + j) * 3 + k);
        EXPECT_EQ(raw[2 * at] * 256 + raw[2 * at + 1], want);  // in the file's byte order
        EXPECT_EQ(wide[static_cast<std::size_t>((i * 2 + j) * 4 + k)], want);
      }
      EXPECT_EQ(wide[static_cast<std::size_t>((i * 2 + j) * 4 + 3)], -1);
    }
  }
}

TEST(OutputFile, TakesAnArrayInSlabsOfAnyShape) {
  const Folder folder;
  const auto& comm = folder.comm();
  const std::vector<index_t> shape{5, 4, 6, 3};
  const std::vector<std::vector<index_t>> tiles{{5, 4, 6, 3}, {2, 4, 6, 3}, {5, 3, 6, 3},
                                                {5, 4, 2, 3}, {5, 4, 6, 2}, {2, 3, 4, 2},
                                                {1, 1, 1, 1}, {3, 4, 2, 3}};
  for (const auto& tile : tiles) {
    const std::string file = folder.file("slabs.h5");
    OutputFile out(comm, file, {{"/U", shape, native_type(Element::f64), {}}},
                   OutputFile::Existing::replace);
    mpi::together(comm, "write", [&] {
      index_t number = 0;
      for_each_tile(shape, tile, [&](const std::vector<layout::Range>& slab) {
        if (number++ % comm.size() != comm.rank()) return;
        const auto values = positions(shape, slab);
        out.write_slab(0, slab, std::as_bytes(std::span(values)));
      });
      out.check_written(OutputFile::ReadBack::all);
    });
    out.publish([](hid_t) {});
    const std::vector<layout::Range> all{{0, 5}, {0, 4}, {0, 6}, {0, 3}};
    std::vector<double> got(360);
    read_slab({file, "/U"}, all, {native_type(Element::f64), got.data(), 8, 3});
    EXPECT_EQ(got, positions(shape, all));
    const DatasetCheck check = check_file(file, [](index_t) {}).datasets.at(0);
    EXPECT_TRUE(check.matches());
    comm.barrier();
  }
}

TEST(OutputFile, IsNotPublishedUnlessAllOfItWasWritten) {
  const Folder folder;
  const auto& comm = folder.comm();
  const std::string file = folder.file("part.h5");
  const std::vector<double> values(9);
  OutputFile out(comm, file, {{"/U", {10}, native_type(Element::f64), {}}},
                 OutputFile::Existing::refuse);
  mpi::together(comm, "write", [&] {
    if (comm.is_root()) out.write(0, 0, std::as_bytes(std::span(values)));
    out.check_written(OutputFile::ReadBack::all);
  });
  EXPECT_THROW(out.publish([](hid_t) {}), mpi::AgreedError);
  EXPECT_FALSE(file_exists(file));
}

TEST(Selection, IsReadAsNumpyWritesIt) {
  std::string path = "/g/A[1:3, :,-2:,4]";
  const Selection selection = cut_selection(path);
  EXPECT_EQ(path, "/g/A");
  const auto ranges = resolve(selection, {5, 6, 7, 8, 9}, "A");
  const std::vector<std::pair<index_t, index_t>> want{{1, 3}, {0, 6}, {5, 7}, {4, 5}, {0, 9}};
  ASSERT_EQ(ranges.size(), want.size());
  for (std::size_t d = 0; d < want.size(); ++d)
    EXPECT_EQ(std::pair(ranges[d].begin, ranges[d].end), want[d]) << d;
  EXPECT_EQ(kept(selection, {5, 6, 7, 8, 9}), (std::vector<index_t>{5, 6, 7, 9}));
  for (std::string name : {"/A", "/A[b]", "/A[]", "/[3]x", "/A]"}) {
    const std::string before = name;
    EXPECT_TRUE(cut_selection(name).empty()) << before;
    EXPECT_EQ(name, before);
  }
  for (std::string name : {"/A[1:2:3]", "/A[1,]", "/A[--1]", "/A[,]", "/A[99999999999999999999]"})
    EXPECT_THROW((void)cut_selection(name), Error) << name;
  for (std::string name : {"/A[0:6]", "/A[-6:]", "/A[3:2]", "/A[5]", "/A[0,0,0]",
                           "/A[9223372036854775807]", "/A[-9223372036854775808]"})
    EXPECT_THROW((void)resolve(cut_selection(name), {5, 5}, "A"), Error) << name;
}

TEST(NumberType, KnowsEveryNameAndNoOther) {
  for (const std::string& name : number_type_names()) {
    const DatasetInfo info = number_type(name);
    EXPECT_EQ(info.type_text(), name);
    EXPECT_EQ(H5Tget_size(number_type(info)), static_cast<std::size_t>(info.element_bytes));
  }
  for (const char* name : {"f7", "f48", "i256", "c32", "c256", "", "x"})
    EXPECT_THROW((void)number_type(name), Error);
}

TEST(NumberType, IsThatOfHdf5) {
  const auto is = [](const char* name, hid_t type) {
    EXPECT_GT(H5Tequal(number_type(number_type(name)), type), 0) << name;
  };
  is("u8", H5T_NATIVE_UINT8);
  is("i8", H5T_NATIVE_INT8);
  is("u16", H5T_NATIVE_UINT16);
  is("i16", H5T_NATIVE_INT16);
  is("u32", H5T_NATIVE_UINT32);
  is("i32", H5T_NATIVE_INT32);
  is("u64", H5T_NATIVE_UINT64);
  is("i64", H5T_NATIVE_INT64);
  is("f32", H5T_NATIVE_FLOAT);
  is("f64", H5T_NATIVE_DOUBLE);
}

/// Every row survives the way through HDF5, in both byte orders.
TEST(NumberType, KeepsItsNameAndFormat) {
  for (const NumberType& row : number_types()) {
    const Handle type = number_type(number_type(row.name));
    EXPECT_EQ(number_bits_of(type), row.form) << row.name;
    EXPECT_TRUE(row.form.can_be_made()) << row.name;
    H5Tset_order(type, H5T_ORDER_BE);
    EXPECT_EQ(type_name(type), row.name);
  }
}

TEST(OutputFile, IsCompleteUnderItsNameAndReadsBack) {
  const Folder folder;
  const std::string file = folder.file("m.h5");
  write_matrix(folder, file, 11, 7);
  folder.comm().barrier();
  machine::Buffer<float> part(12);
  read_box<float>({file, "/group/M"}, {{4, 7}, {2, 5}}, {part.data(), 3, 3, 4});
  EXPECT_EQ(part[0], 4002.0F);
  EXPECT_EQ(part[2 * 4 + 2], 6004.0F);
  const FileCheck check = check_file(file, [](index_t) {});
  EXPECT_EQ(check.state, schema::state_complete);
  ASSERT_EQ(check.datasets.size(), 1u);
  EXPECT_TRUE(check.datasets[0].matches());
  EXPECT_EQ(folder.entries().size(), 1u);
}

TEST(FileCheck, TravelsAsTextWhateverTheNames) {
  const FileCheck check{"complete", {{"/a b\n3 c", "4 x 4", "", "0f"}, {"", "a scalar", "1", "1"}}};
  const FileCheck copy = parse_check(to_text(check));
  EXPECT_EQ(copy.state, check.state);
  ASSERT_EQ(copy.datasets.size(), 2u);
  for (std::size_t d = 0; d < 2; ++d) {
    EXPECT_EQ(copy.datasets[d].path, check.datasets[d].path);
    EXPECT_EQ(copy.datasets[d].shape, check.datasets[d].shape);
    EXPECT_EQ(copy.datasets[d].expected, check.datasets[d].expected);
    EXPECT_EQ(copy.datasets[d].found, check.datasets[d].found);
  }
  EXPECT_TRUE(parse_check(to_text({"incomplete", {}})).datasets.empty());
  EXPECT_THROW((void)parse_check("99 complete"), Error);
}

TEST(OutputFile, MoreRanksThanRowsAndZeroExtents) {
  const Folder folder;
  write_matrix(folder, folder.file("one.h5"), 1, 5);
  write_matrix(folder, folder.file("none.h5"), 0, 5);
  write_matrix(folder, folder.file("thin.h5"), 5, 0);
  for (const char* name : {"one.h5", "none.h5", "thin.h5"}) {
    const FileCheck check = check_file(folder.file(name), [](index_t) {});
    EXPECT_EQ(check.state, schema::state_complete);
    EXPECT_TRUE(check.datasets.at(0).matches()) << name;
  }
}

TEST(OutputFile, RefusesToReplaceUnlessTold) {
  const Folder folder;
  const std::string file = folder.file("m.h5");
  write_matrix(folder, file, 3, 3);
  try {
    write_matrix(folder, file, 4, 4);
    FAIL();
  } catch (const mpi::AgreedError& error) {
    EXPECT_EQ(error.code(), ExitCode::cannot_create);
  }
  write_matrix(folder, file, 4, 4, OutputFile::Existing::replace);
  EXPECT_EQ(check_file(file, [](index_t) {}).datasets.at(0).shape, "4 x 4");
}

TEST(OutputFile, UnpublishedLeavesNothing) {
  const Folder folder;
  {
    const OutputFile out(folder.comm(), folder.file("x.h5"),
                         {{"/X", {100, 100}, native_type(Element::f32), {}}},
                         OutputFile::Existing::refuse);
    folder.comm().barrier();
    EXPECT_EQ(folder.entries().size(), 1u);  // a hidden partial file
    EXPECT_TRUE(folder.entries()[0].starts_with(".x.h5.partial-"));
    folder.comm().barrier();
  }
  folder.comm().barrier();
  EXPECT_TRUE(folder.entries().empty());
}

TEST(OutputFile, MissingFolderIsAgreedOn) {
  const Folder folder;
  EXPECT_THROW(
      OutputFile(folder.comm(), folder.file("no/such/x.h5"),
                 {{"/X", {2}, native_type(Element::f32), {}}}, OutputFile::Existing::refuse),
      mpi::AgreedError);
}

TEST(CheckFile, SeesOneFlippedByte) {
  const Folder folder;
  const std::string file = folder.file("m.h5");
  write_matrix(folder, file, 50, 50);
  folder.comm().barrier();
  if (folder.comm().is_root()) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary | std::ios::ate);
    const auto size = bytes.tellg();
    bytes.seekg(size / 2);
    char byte = 0;
    bytes.get(byte);
    bytes.seekp(size / 2);
    bytes.put(static_cast<char>(byte ^ 1));
  }
  folder.comm().barrier();
  EXPECT_FALSE(check_file(file, [](index_t) {}).datasets.at(0).matches());
}

TEST(DatasetName, NeedsFileAndPath) {
  EXPECT_EQ(parse_dataset_name("a.h5:/A", "a").path, "/A");
  using Names = std::vector<std::string>;
  EXPECT_EQ(split_names("a.h5:/u,/v[0:9,3],d/b.h5:/g/w"),
            (Names{"a.h5:/u", "a.h5:/v[0:9,3]", "d/b.h5:/g/w"}));
  EXPECT_EQ(split_names("a,b.h5:/u,v,/w"), (Names{"a,b.h5:/u,v", "a,b.h5:/w"}));
  EXPECT_EQ(split_names("/a.h5:/u,/d/b.h5:/v,/w"), (Names{"/a.h5:/u", "/d/b.h5:/v", "/d/b.h5:/w"}));
  EXPECT_EQ(split_names("u,/v"), (Names{"u,/v"}));
  EXPECT_EQ(split_names(""), (Names{""}));
  for (const char* bad : {"a.h5", "a.h5:", "a.h5:/", ":/A", ""}) {
    EXPECT_THROW((void)parse_dataset_name(bad, "a"), Error) << bad;
  }
}

TEST(DatasetName, IsPartedWhereAFileIsOrCouldBe) {
  const Folder folder;
  const auto parse = [&](const std::string& text) {
    return parse_dataset_name(folder.file(text), "a");
  };
  EXPECT_EQ(parse("x.h5:/PV:/g").path, "/PV:/g");  // neither file exists, but one has a folder
  EXPECT_EQ(parse_dataset_name("x.h5:/a:/b:/c", "a").file, "x.h5");
  if (folder.comm().is_root()) fs::create_directories(folder.file("dir:"));
  folder.comm().barrier();
  EXPECT_EQ(parse("dir:/x.h5:/g/A").file, folder.file("dir:/x.h5"));
  write_matrix(folder, folder.file("x.h5"), 2, 2);
  folder.comm().barrier();
  EXPECT_EQ(parse("x.h5:/PV:/g").file, folder.file("x.h5"));
  EXPECT_EQ(parse_table_name(folder.file("x.h5") + ":/", "a").path, "/");
  EXPECT_EQ(split_names(folder.file("x.h5") + ":/PV:/g,/u").at(1), folder.file("x.h5") + ":/u");
}

TEST(OpenDataset, NamesWhatIsThere) {
  const Folder folder;
  write_matrix(folder, folder.file("m.h5"), 2, 2);
  folder.comm().barrier();
  const Handle file = open_file(folder.file("m.h5"));
  try {
    (void)open_dataset(file, {"m.h5", "/grouq/M"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::missing_input);
    EXPECT_NE(std::string(error.what()).find("/group"), std::string::npos);
  }
  EXPECT_THROW((void)open_file(folder.file("none.h5")), Error);
}

TEST(RawFile, ANewFileTakesNobodysPlace) {
  const Folder folder;
  if (!folder.comm().is_root()) return;
  const std::string first = folder.file("first"), second = folder.file("second"),
                    name = folder.file("name");
  std::ofstream(first) << 1;
  std::ofstream(second) << 2;
  publish_new_file(first, name);
  EXPECT_THROW(publish_new_file(second, name), Error);
  EXPECT_EQ(std::ifstream(name).get(), '1');
  EXPECT_FALSE(fs::exists(first));
  fs::create_symlink("name", folder.file("link"));
  fs::create_symlink("nothing", folder.file("gone"));
  fs::create_symlink("turn", folder.file("turn"));
  EXPECT_TRUE(fs::equivalent(behind_links(folder.file("link")), name));
  EXPECT_EQ(fs::path(behind_links(folder.file("gone"))).filename(), "nothing");
  EXPECT_EQ(fs::path(behind_links(folder.file("turn"))).filename(), "turn");
}

}  // namespace
}  // namespace tessera::io
