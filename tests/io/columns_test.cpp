#include "io/columns.hpp"

#include <gtest/gtest.h>
#include <hdf5_hl.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <numeric>

#include "io/image.hpp"
#include "io/plain_rows.hpp"
#include "io/stored_key.hpp"

namespace tessera::io {
namespace {

/// Temporary file with a table of three columns and several objects that are not columns.
class Columns : public testing::Test {
 protected:
  Columns()
      : file_(std::filesystem::temp_directory_path() /
              ("columns_test_" + std::to_string(getpid()) + ".h5")) {
    const Handle file(H5Fcreate(file_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle group(H5Gcreate2(file, "table", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    const Handle inner(H5Gcreate2(group, "folder", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Gclose);
    const Handle empty(H5Gcreate2(file, "empty", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
    std::vector<short> small(rows);
    std::iota(small.begin(), small.end(), short{-3});
    std::vector<double> real(small.begin(), small.end());
    const hsize_t extent = rows, square[2] = {rows, 1};
    H5LTmake_dataset(group, "a small", 1, &extent, H5T_NATIVE_SHORT, small.data());
    H5LTmake_dataset(group, "real", 1, &extent, H5T_NATIVE_DOUBLE, real.data());
    H5LTmake_dataset(file, "matrix", 2, square, H5T_NATIVE_DOUBLE, real.data());
    const Handle swapped(H5Tcopy(H5T_STD_I32BE), H5Tclose),
        space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
    const Handle big(
        H5Dcreate2(group, "big", swapped, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
    H5Dwrite(big, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, small.data());
    const Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(text, H5T_VARIABLE);
    const Handle words(
        H5Dcreate2(file, "words", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  }
  ~Columns() override { std::filesystem::remove(file_); }
  [[nodiscard]] DatasetName name(const std::string& path) const { return {file_, path}; }

  static constexpr std::size_t rows = 11;
  std::string file_;
};

TEST_F(Columns, AreTheDatasetsOfAGroupByName) {
  const TableInfo table = inspect_table(name("/table"));
  EXPECT_TRUE(table.is_group);
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].name, "a small");
  EXPECT_EQ(table.columns[1].path, "/table/big");
  EXPECT_EQ(table.rows(), 11);
  require_table(table, name("/table"));
  EXPECT_FALSE(inspect_table(name("/table/real")).is_group);
}

TEST_F(Columns, SurviveTheWayThroughText) {
  const TableInfo table = inspect_table(name("/table"));
  const TableInfo again = parse_table(to_text(table));
  EXPECT_EQ(again.is_group, table.is_group);
  ASSERT_EQ(again.columns.size(), table.columns.size());
  for (std::size_t c = 0; c < again.columns.size(); ++c) {
    EXPECT_EQ(again.columns[c].path, table.columns[c].path);
    EXPECT_EQ(again.columns[c].name, table.columns[c].name);
    EXPECT_EQ(again.columns[c].info.type_text(), table.columns[c].info.type_text());
    EXPECT_EQ(again.columns[c].info.shape, table.columns[c].info.shape);
  }
  EXPECT_THROW((void)parse_table("1 2\n0 8"), Error);
  EXPECT_THROW((void)parse_table(""), Error);
}

TEST_F(Columns, AreReadInPartsAndConverted) {
  std::vector<std::int32_t> values(5, 77);
  const TableInfo table = inspect_table(name("/table"));
  read_numbers(file_, table.columns[1], {3, 7}, Element::i32,
               reinterpret_cast<std::byte*>(values.data()));
  EXPECT_EQ(values, (std::vector<std::int32_t>{0, 1, 2, 3, 77}));
  std::vector<double> real(2, 77);
  read_numbers(file_, table.columns[0], {10, 11}, Element::f64,
               reinterpret_cast<std::byte*>(real.data()));
  EXPECT_EQ(real, (std::vector<double>{7, 77}));
  read_numbers(file_, table.columns[2], {4, 4}, Element::f64, nullptr);  // an empty range
}

TEST_F(Columns, AreRefusedWhereTheElementCannotHoldANumber) {
  {
    const Handle file(H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const double real[] = {1, 2.5, NAN, 1e300, INFINITY, -0.0};
    const std::uint64_t large[] = {7, ~std::uint64_t{0}};
    const hsize_t six = 6, two = 2;
    H5LTmake_dataset(file, "fractions", 1, &six, H5T_NATIVE_DOUBLE, real);
    H5LTmake_dataset(file, "large", 1, &two, H5T_NATIVE_UINT64, large);
  }
  const Column small = inspect_table(name("/table")).columns[0];  // minimum -3
  const Column real = inspect_table(name("/fractions")).columns.front();
  const Column large = inspect_table(name("/large")).columns.front();
  std::vector<std::byte> got(11 * 8), whole(11 * 8);
  const auto read = [&](const Column& column, layout::Range part, Element element) {
    read_numbers(file_, column, part, element, got.data());
    const StoredKey key(file_, column, element, {0, static_cast<index_t>(bytes(element))});
    read_stored(file_, column, part, whole.data());
    key.convert(whole.data(), part.size(), got.data());
  };
  EXPECT_THROW(read(small, {0, 11}, Element::u32), Error);
  EXPECT_NO_THROW(read(small, {3, 11}, Element::u32));
  EXPECT_THROW(read(large, {0, 2}, Element::u32), Error);
  EXPECT_THROW(read(large, {0, 2}, Element::i64), Error);
  EXPECT_NO_THROW(read(large, {0, 1}, Element::u32));
  for (index_t row = 1; row < 5; ++row)
    EXPECT_THROW(read(real, {row, row + 1}, Element::i32), Error) << row;
  EXPECT_NO_THROW(read(real, {0, 1}, Element::i32));
  EXPECT_NO_THROW(read(real, {5, 6}, Element::i32));
  EXPECT_THROW(read(real, {3, 4}, Element::f32), Error);  // 1e300
  EXPECT_NO_THROW(read(real, {0, 3}, Element::f32));      // floats round
  EXPECT_NO_THROW(read(real, {4, 6}, Element::f32));      // infinity is representable
  EXPECT_NO_THROW(read(large, {0, 1}, Element::f64));
  EXPECT_THROW(read(large, {0, 2}, Element::f64), Error);  // integers must be exact
  std::uint8_t byte = 0;
  const layout::Range one[] = {{1, 2}};
  EXPECT_THROW(read_slab(name("/large"), one, {H5T_NATIVE_UINT8, &byte, 1, 1}), Error);
}

TEST_F(Columns, AreReadAsTheyAreStored) {
  std::vector<unsigned char> bytes(9, 0xEE);
  read_stored(file_, inspect_table(name("/table/big")).columns.front(), {3, 5},
              reinterpret_cast<std::byte*>(bytes.data()));
  EXPECT_EQ(bytes, (std::vector<unsigned char>{0, 0, 0, 0, 0, 0, 0, 1, 0xEE}));
  EXPECT_GT(H5Tequal(stored_type(name("/table/big")), H5T_STD_I32BE), 0);
}

/// Compares a key extracted from stored rows with the key as read.
void expect_key_as_read(const std::string& file, const Column& column,
                        std::optional<Element> number, layout::Range bytes) {
  const StoredKey key(file, column, number, bytes);
  const index_t n = column.rows();
  Column whole = column;
  whole.member.clear();
  whole.info.element_bytes = key.element_bytes();
  std::vector<std::byte> rows(static_cast<std::size_t>(n * key.row_bytes())),
      want(static_cast<std::size_t>(n * key.key_bytes())), got(want.size());
  read_stored(file, whole, {0, n}, rows.data());
  if (number)
    read_numbers(file, column, {0, n}, *number, want.data());
  else
    read_bytes(file, column, {0, n}, bytes, want.data());
  key.convert(rows.data(), n, got.data());
  EXPECT_EQ(got, want) << column.name;
  if (const auto offset = key.offset()) {
    for (index_t j = 0; j < n; ++j)
      EXPECT_TRUE(std::equal(want.begin() + j * key.key_bytes(),
                             want.begin() + (j + 1) * key.key_bytes(),
                             rows.begin() + j * key.row_bytes() + *offset));
  }
}

TEST_F(Columns, GiveTheirKeysOutOfStoredRows) {
  const TableInfo table = inspect_table(name("/table"));
  expect_key_as_read(file_, table.columns[0], Element::i32, {});
  expect_key_as_read(file_, table.columns[1], Element::i32, {});
  expect_key_as_read(file_, table.columns[2], Element::f64, {});
  expect_key_as_read(file_, table.columns[1], std::nullopt, {1, 3});
  EXPECT_EQ(StoredKey(file_, table.columns[2], Element::f64, {}).offset(), 0);
  EXPECT_FALSE(StoredKey(file_, table.columns[0], Element::i32, {}).offset());
  EXPECT_EQ(StoredKey(file_, table.columns[1], std::nullopt, {1, 3}).offset(), 1);
}

TEST_F(Columns, GiveTheKeysOfMoreRowsThanAreConvertedAtOnce) {
  for (const auto& column : inspect_table(name("/table")).columns) {
    const Element number =
        column.info.kind == DatasetInfo::Kind::real ? Element::f32 : Element::i64;
    const StoredKey key(file_, column, number, {});
    std::vector<std::byte> few(rows * static_cast<std::size_t>(key.row_bytes())), many;
    read_stored(file_, column, {0, rows}, few.data());
    constexpr index_t times = 10001;
    for (index_t i = 0; i < times; ++i) many.insert(many.end(), few.begin(), few.end());
    const index_t bytes = index_t{rows} * key.key_bytes();
    std::vector<std::byte> want(static_cast<std::size_t>(bytes)),
        got(static_cast<std::size_t>(times * bytes));
    key.convert(few.data(), rows, want.data());
    key.convert(many.data(), times * index_t{rows}, got.data());
    for (index_t i = 0; i < times; ++i)
      ASSERT_TRUE(std::equal(want.begin(), want.end(), got.begin() + i * bytes))
          << column.name << " " << i;
  }
}

/// Two rows exceed the size of one read, so rows are read one by one.
TEST_F(Columns, GiveBytesOfLongRows) {
  constexpr hsize_t shape[2] = {3, 9 << 20}, start[2] = {0, 5}, count[2] = {3, 4};
  const unsigned char want[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  {
    const Handle file(H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    const Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose),
        memory(H5Screate_simple(2, count, nullptr), H5Sclose);
    const Handle long_rows(
        H5Dcreate2(file, "long", H5T_NATIVE_UCHAR, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        H5Dclose);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    ASSERT_GE(H5Dwrite(long_rows, H5T_NATIVE_UCHAR, memory, space, H5P_DEFAULT, want), 0);
  }
  unsigned char got[13] = {};
  read_bytes(file_, inspect_table(name("/long")).columns.front(), {0, 3}, {5, 9},
             reinterpret_cast<std::byte*>(got));
  EXPECT_TRUE(std::equal(std::begin(want), std::end(want), got));
  EXPECT_EQ(got[12], 0);
}

TEST_F(Columns, GiveKeysOutOfCompoundsAndStringsHoweverTheyEnd) {
  struct Row {
    short small;
    char text[6];
    double pair[2];
  };
  const Handle file(H5Fopen(file_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
  const hsize_t pair = 2, shape[2] = {3, 2};
  const Handle text(H5Tcopy(H5T_C_S1), H5Tclose),
      two(H5Tarray_create2(H5T_NATIVE_DOUBLE, 1, &pair), H5Tclose),
      type(H5Tcreate(H5T_COMPOUND, sizeof(Row)), H5Tclose),
      space(H5Screate_simple(1, shape, nullptr), H5Sclose),
      square(H5Screate_simple(2, shape, nullptr), H5Sclose);
  H5Tset_size(text, 6);  // null-terminated; bytes after the zero are ignored
  H5Tinsert(type, "small", offsetof(Row, small), H5T_NATIVE_SHORT);
  H5Tinsert(type, "text", offsetof(Row, text), text);
  H5Tinsert(type, "pair", offsetof(Row, pair), two);
  const Row stored[3] = {{3, "ab\0cd", {1, 2}}, {-1, "abcde", {3, 4}}, {0, "", {5, 6}}};
  const char words[3][2][6] = {{"a\0bcd", "q"}, {"bcd", "w"}, {"", "efghi"}};
  const Handle compound(
      H5Dcreate2(file, "rows", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  H5Dwrite(compound, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored);
  const Handle strings(
      H5Dcreate2(file, "strings", text, square, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  H5Dwrite(strings, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, words);
  H5Fflush(file, H5F_SCOPE_GLOBAL);
  const TableInfo table = inspect_table(name("/rows"));
  expect_key_as_read(file_, table.members[0], Element::i32, {});
  expect_key_as_read(file_, table.members[1], std::nullopt, {0, 6});
  expect_key_as_read(file_, table.members[1], std::nullopt, {1, 4});
  expect_key_as_read(file_, table.members[2], std::nullopt, {8, 16});
  EXPECT_EQ(StoredKey(file_, table.members[2], std::nullopt, {8, 16}).offset(),
            static_cast<index_t>(offsetof(Row, pair)) + 8);
  expect_key_as_read(file_, inspect_table(name("/strings")).columns.front(), std::nullopt, {0, 12});
  expect_key_as_read(file_, inspect_table(name("/strings")).columns.front(), std::nullopt, {4, 8});
}

TEST_F(Columns, OfSeveralDatasetsAreReadWithoutTheLibrary) {
  const TableInfo table = inspect_table(name("/table"));
  const auto plain = PlainRows::stored(file_, table.columns);
  ASSERT_TRUE(plain);
  std::vector<std::vector<std::byte>> got, want;
  std::vector<std::byte*> to;
  for (const Column& column : table.columns) {
    want.emplace_back(static_cast<std::size_t>(6 * column.row_bytes()));
    read_stored(file_, column, {2, 8}, want.back().data());
    got.emplace_back(want.back().size());
  }
  for (auto& column : got) to.push_back(column.data());
  std::vector<layout::Range> seen;
  plain->read({2, 8}, to, 4, [&](layout::Range some) { seen.push_back(some); });
  EXPECT_EQ(got, want);
  EXPECT_EQ(seen, (std::vector<layout::Range>{{2, 6}, {6, 8}}));
  EXPECT_TRUE(PlainRows::of(file_, table.columns[2], Element::f64));
  EXPECT_FALSE(PlainRows::of(file_, table.columns[1], Element::i32));  // conversion is required
}

TEST_F(Columns, HaveTheNarrowestElementThatHoldsThem) {
  const TableInfo table = inspect_table(name("/table"));
  EXPECT_EQ(element_of_numbers(table.columns[0], file_), Element::i32);
  EXPECT_EQ(element_of_numbers(table.columns[2], file_), Element::f64);
  Column text = table.columns[0];
  text.key = Column::Key::text;
  EXPECT_THROW((void)element_of_numbers(text, file_), Error);
}

TEST_F(Columns, OfOtherShapesAreRefused) {
  EXPECT_THROW((void)inspect_table(name("/empty")), Error);
  EXPECT_FALSE(inspect_table(name("/words")).columns.front().info.self_contained);
  EXPECT_THROW((void)inspect_table(name("/nothing")), Error);
  EXPECT_THROW((void)element_of_numbers(inspect_table(name("/matrix")).columns.front(), file_),
               Error);
  TableInfo ragged = inspect_table(name("/table"));
  ragged.columns[1].info.shape[0] = 12;
  EXPECT_THROW(require_table(ragged, name("/table")), Error);
}

TEST(FieldNames, AreTheLastOnesAndDiffer) {
  EXPECT_EQ(field_names({"/a/u", "/b/u", "/v"}), (std::vector<std::string>{"u", "u_2", "v"}));
  EXPECT_EQ(field_names({"/a/u", "/b/u_3", "/c/u"}), (std::vector<std::string>{"u", "u_3", "u_4"}));
}

}  // namespace
}  // namespace tessera::io
