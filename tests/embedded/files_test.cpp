// Files of a communicator of some ranks; HDF5, standard output and messages of the program.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/note.hpp"
#include "embedded/embedded.hpp"
#include "embedded/folder.hpp"
#include "io/dataset.hpp"
#include "io/output_file.hpp"
#include "mpi/agreement.hpp"

namespace tessera::embedded {
namespace {

TEST_F(Embedded, Files) {
  const Folder folder(comm);
  constexpr index_t rows = 29, cols = 31;
  const io::DatasetName name{folder.file("a.h5"), "/group/A"};
  auto a = matrix<double>(comm, rows, cols, 1);
  {
    io::OutputFile file(comm, name.file,
                        {{name.path, {rows, cols}, io::native_type(Element::f64), {}}},
                        io::OutputFile::Existing::refuse);
    mpi::together(comm, "write", [&] {
      const auto view = a.view();
      file.write(0, a.box().rows.begin * cols,
                 std::as_bytes(std::span(view.data, static_cast<std::size_t>(view.rows * cols))));
      file.check_written(io::OutputFile::ReadBack::all);
    });
    file.publish([](hid_t) {});
  }
  layout::Box box{{rows * comm.rank() / comm.size(), rows}, {comm.rank(), cols}};  // they overlap
  const auto read = [&]<class T>(T) {
    std::vector<T> values(static_cast<std::size_t>(box.area()));
    io::read_box(name, box, matrix_view(values.data(), box.rows.size(), box.cols.size()));
    index_t wrong = 0;
    for (index_t i = box.rows.begin; i < box.rows.end; ++i)
      for (index_t j = box.cols.begin; j < box.cols.end; ++j)
        wrong += values[static_cast<std::size_t>((i - box.rows.begin) * box.cols.size() + j -
                                                 box.cols.begin)] ==
                         static_cast<T>(static_cast<float>(i + j))
                     ? 0
                     : 1;
    EXPECT_EQ(wrong, 0);
  };
  read(double{}), read(float{}), read(int{}), read(short{}), read(1LL), read(1ULL), read(1UL);
  read(static_cast<signed char>(0)), read(static_cast<unsigned char>(0));
  read(std::complex<double>{}), read(std::complex<float>{});
  EXPECT_THROW(io::OutputFile(comm, name.file,
                              {{name.path, {rows, cols}, io::native_type(Element::f64), {}}},
                              io::OutputFile::Existing::refuse),
               mpi::AgreedError);
}

int printed = 0;  // by the program's printer of HDF5 errors

TEST_F(Embedded, Hdf5PrintsTheProgramsErrorsAsBefore) {
  const Folder folder(comm);
  const auto fails = [] { return H5Fopen("/absent/file.h5", H5F_ACC_RDONLY, H5P_DEFAULT) < 0; };
  H5E_auto2_t before = nullptr;
  void* about = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &about);
  H5Eset_auto2(
      H5E_DEFAULT, [](hid_t, void* count) -> herr_t { return ++*static_cast<int*>(count), 0; },
      &printed);
  std::vector<double> values(4);
  const layout::Box box{{0, 2}, {0, 2}};
  const auto to = matrix_view(values.data(), 2, 2);
  printed = 0;
  EXPECT_THROW(io::read_box({folder.file("absent.h5"), "/A"}, box, to), Error);
  {
    io::OutputFile file(comm, folder.file("a.h5"),
                        {{"/A", {2, 2}, io::native_type(Element::f64), {}}},
                        io::OutputFile::Existing::refuse);
    EXPECT_TRUE(fails());
    EXPECT_EQ(printed, 1) << "while an output is open";
    mpi::together(comm, "write", [&] {
      if (comm.is_root()) file.write(0, 0, std::as_bytes(std::span(values)));
      file.check_written(io::OutputFile::ReadBack::all);
    });
    file.publish([](hid_t) {});
  }
  io::read_box({folder.file("a.h5"), "/A"}, box, to);
  EXPECT_THROW(io::read_box({folder.file("a.h5"), "/B"}, box, to), Error);
  EXPECT_EQ(printed, 1) << "none of Tessera's";
  EXPECT_TRUE(fails());
  EXPECT_EQ(printed, 2);
  H5Eset_auto2(H5E_DEFAULT, before, about);
}

TEST_F(Embedded, Hdf5ConvertsTheProgramsNumbersAsItDocuments) {
  EXPECT_THROW((void)io::open_file("/absent/file.h5"), Error);  // registers conversions
  std::array<double, 4> numbers{2.7, -2.7, 1e300, -1e300};
  H5Tconvert(H5T_NATIVE_DOUBLE, H5T_NATIVE_INT, 4, numbers.data(), nullptr, H5P_DEFAULT);
  std::array<int, 4> whole{};
  std::memcpy(whole.data(), numbers.data(), sizeof(whole));
  EXPECT_EQ(whole, (std::array<int, 4>{2, -2, std::numeric_limits<int>::max(),
                                       std::numeric_limits<int>::min()}));
}

TEST_F(Embedded, PrintsNothingAndNamesNoOptions) {
  const Folder folder(comm);
  std::vector<std::string> notes, errors;
  Captured output;
  const auto write = [&](io::OutputFile::Existing existing, const std::string& path) {
    io::OutputFile file(comm, folder.file("a.h5"), {{path, {2}, io::native_type(Element::f64), {}}},
                        existing);
    const std::vector<double> values(2);
    mpi::together(comm, "write", [&] {
      if (comm.is_root()) file.write(0, 0, std::as_bytes(std::span(values)));
      file.check_written(io::OutputFile::ReadBack::all);
    });
    file.publish([](hid_t) {});
  };
  const auto fail = [&](const std::function<void()>& call) {
    try {
      call();
      errors.emplace_back("no error");
    } catch (const Error& error) {
      errors.emplace_back(error.what());
    }
  };
  write(io::OutputFile::Existing::refuse, "/A");
  fail([&] { write(io::OutputFile::Existing::refuse, "/A"); });
  if (comm.is_root()) {  // of another program, under two names
    const hid_t file =
        H5Fcreate(folder.file("b.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file, "/theirs", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    std::filesystem::rename(folder.file("b.h5"), folder.file("a.h5"));
    std::filesystem::create_hard_link(folder.file("a.h5"), folder.file("c.h5"));
  }
  comm.barrier();
  write(io::OutputFile::Existing::refuse, "/B");
  handle_notes([&](const std::string& line) { notes.push_back(line); });
  write(io::OutputFile::Existing::replace, "/B");
  handle_notes({});
  const long bytes = output.end();
  EXPECT_EQ(bytes, 0);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors[0].find("exists; pass Existing::replace"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[0].find("--"), std::string::npos);
  EXPECT_LE(notes.size(), 1U);
}

}  // namespace
}  // namespace tessera::embedded
