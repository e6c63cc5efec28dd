// Descriptions of outputs for visualisation: the XDMF file next to each, and a report of what
// visualisation tools would not find.

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/lines.hpp"
#include "base/note.hpp"
#include "io/image.hpp"
#include "mpi/agreement.hpp"
#include "workloads/stencil/problem.hpp"

namespace tessera::inline v1::workloads::stencil {
namespace {

void describe_image(const std::string& file, const std::vector<io::DatasetSpec>& specs, bool xdmf) {
  const io::DatasetSpec& first = specs.front();
  if (first.dimensions.size() - (first.time.empty() ? 0 : 1) > 1 && !io::is_vtk_image(first))
    print_filled(fmt::format(
        "no VTKHDF in {}: VTK cannot read images with extent 1 before the last dimension{}", file,
        xdmf ? "; use the XDMF file" : "; use --xdmf"));
  if (!xdmf) return;
  if (io::common_geometry(specs).is_turned()) {
    print_filled(fmt::format(
        "not written: {}: XDMF does not support the Direction of the image; VTKHDF in {} has it",
        io::xdmf_name(file), file));
    return;
  }
  const bool readable = std::all_of(specs.begin(), specs.end(), [&](const io::DatasetSpec& spec) {
    return io::is_xdmf_name(file, spec.path);
  });
  if (!readable) {
    print_filled(fmt::format(
        "not written: {}: XDMF does not support ':' or non-ASCII characters in names of files and "
        "datasets",
        io::xdmf_name(file)));
    return;
  }
  const std::string written = io::write_xdmf(file, specs);
  if (written.empty())
    print_note(fmt::format(
        "note: the XDMF file next to '{}' was not written by Tessera and is kept", file));
  else
    fmt::print("written: {}\n", written);
}

}  // namespace

void describe_images(const Point& point, const char* option,
                     const std::vector<io::DatasetSpec>& specs, bool xdmf) {
  std::map<std::string, std::vector<io::DatasetSpec>> files;
  const auto names = io::split_names(point.values.text(option));
  for (std::size_t i = 0; i < specs.size(); ++i)
    files[io::parse_dataset_name(names[i], option).file].push_back(specs[i]);
  mpi::on_root(point.comm, "write", [&] {
    for (const auto& [file, of_file] : files) describe_image(file, of_file, xdmf);
  });
}

}  // namespace tessera::inline v1::workloads::stencil
