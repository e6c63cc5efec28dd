#include "io/other_forms.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tessera::inline v1::io {
namespace {

namespace fs = std::filesystem;

constexpr const char* netcdf3 = "a netCDF-3 file, not HDF5";
constexpr const char* zarr_group = "a zarr store, not HDF5";
constexpr const char* zarr_array = "a zarr array, not HDF5";
constexpr const char* csv = "a text file, not HDF5";

bool is_text(const std::string& file) {
  std::array<char, 512> head{};
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), head.size());
  const auto end = head.begin() + in.gcount();
  return in.gcount() > 0 && std::all_of(head.begin(), end, [](char c) {
           return c == '\n' || c == '\r' || c == '\t' || static_cast<unsigned char>(c) >= 0x20;
         });
}

/// Returns the name of the converted file.
std::string converted(const std::string& file, const char* ending) {
  fs::path path(file.ends_with('/') ? file.substr(0, file.size() - 1) : file);
  path.replace_extension(ending);
  return path.string() == file ? file + ending : path.string();
}

/// Returns the form of a folder with zarr.json, of zarr's format 3.
std::string form_of_zarr(const fs::path& metadata) {
  std::ifstream in(metadata);
  const auto node = nlohmann::json::parse(in, nullptr, false);
  const bool array = node.is_object() && node.contains("shape");
  return array ? zarr_array : zarr_group;
}

}  // namespace

std::string form_of(const std::string& file) {
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    const fs::path folder(file);
    if (fs::exists(folder / ".zarray", ignored)) return zarr_array;
    if (fs::exists(folder / "zarr.json", ignored)) return form_of_zarr(folder / "zarr.json");
    return fs::exists(folder / ".zgroup", ignored) ? zarr_group : "";
  }
  if (!fs::is_regular_file(file, ignored)) return "";  // reading a pipe would wait for its writer
  std::array<char, 4> head{};
  std::ifstream(file, std::ios::binary).read(head.data(), head.size());
  const bool classic = head[0] == 'C' && head[1] == 'D' && head[2] == 'F';
  if (classic && (head[3] == 1 || head[3] == 2 || head[3] == 5)) return netcdf3;
  return is_text(file) ? csv : "";
}

std::string advice_on(const std::string& file, const std::string& form) {
  if (form == netcdf3)
    return fmt::format("convert it: nccopy -k nc4 '{}' '{}'", file, converted(file, ".nc4"));
  const std::string to = converted(file, ".h5");
  if (form == zarr_group)
    return fmt::format(
        "convert it: python3 -c 'import h5py, zarr; copy = lambda z, h: "
        "[h.create_dataset(n, data=a[...]).attrs.update(a.attrs) for n, a in z.arrays()] + "
        "[copy(g, h.create_group(n)) for n, g in z.groups()]; "
        "copy(zarr.open(\"{}\", mode=\"r\"), h5py.File(\"{}\", \"x\"))'",
        file, to);
  if (form == zarr_array)
    return fmt::format(
        "convert it: python3 -c 'import h5py, zarr; h5py.File(\"{}\", \"x\")"
        "[\"data\"] = zarr.open(\"{}\", mode=\"r\")[...]'",
        to, file);
  if (form == csv)
    return fmt::format(
        "if it is CSV, convert it: python3 -c 'import h5py, numpy; "
        "h5py.File(\"{}\", \"x\")[\"table\"] = numpy.genfromtxt(\"{}\", "
        "delimiter=\",\", names=True, dtype=None, encoding=\"bytes\")'",
        to, file);
  return "name one written by h5py or similar";
}

}  // namespace tessera::inline v1::io
