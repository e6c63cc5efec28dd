#include <fmt/format.h>

#include "io/grid.hpp"
#include "mpi/agreement.hpp"
#include "stencil.hpp"

namespace tessera::apps::stencil {

std::unique_ptr<io::OutputFile> create_output(const Point& point) {
  const auto& values = point.values;
  if (!values.has("out")) return nullptr;
  const io::DatasetName name = io::parse_dataset_name(values.text("out"), "out");
  std::vector<std::string> dimensions{"z", "y", "x"};
  dimensions.erase(dimensions.begin(), dimensions.end() - point.request.dims());
  const io::DatasetSpec spec{name.path, point.request.extents(), io::native_type(point.request.element),
                             dimensions};
  using Existing = io::OutputFile::Existing;
  return std::make_unique<io::OutputFile>(point.comm, name.file, std::vector{spec},
                                          values.flag("overwrite") ? Existing::replace : Existing::refuse);
}

template <class T>
bool conclude(const Point& point, io::OutputFile* out, const dist::stencil::DistributedField<T>& u,
              run::Measured& measured) {
  const bool right = !measured.verdict || measured.verdict->passed();
  if (out != nullptr && right) {
    mpi::together(point.comm, "write", [&] {
      const mpi::PhaseScope scope(measured.once, "write");
      if (!u.box().empty()) io::write_grid(*out, 0, 0, point.request.problem().global, u.box(), u.now());
      const std::string amount = point.values.text("verify-output");
      using ReadBack = io::OutputFile::ReadBack;
      out->check_written(amount == "all"      ? ReadBack::all
                         : amount == "sample" ? ReadBack::sample
                         : amount == "off"    ? ReadBack::off
                                              : ReadBack::automatic);
    });
    const auto attributes = point.session.attributes(measured);
    out->publish([&](hid_t group) {
      for (const auto& [name, value] : attributes) {
        std::visit([&, key = name](const auto& v) { io::write_attribute(group, key, v); }, value);
      }
    });
  }
  point.session.record(point.values, measured);
  if (out != nullptr && right && point.comm.is_root()) fmt::print("written: {}\n", point.values.text("out"));
  return right;
}

template bool conclude(const Point&, io::OutputFile*, const dist::stencil::DistributedField<float>&,
                       run::Measured&);
template bool conclude(const Point&, io::OutputFile*, const dist::stencil::DistributedField<double>&,
                       run::Measured&);

}  // namespace tessera::apps::stencil
