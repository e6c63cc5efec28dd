#include "io/references.hpp"

#include <fmt/core.h>

#include <cstring>

#include "base/option_names.hpp"
#include "io/content.hpp"
#include "io/home_file.hpp"
#include "io/small_copy.hpp"

namespace tessera::inline v1::io {
namespace {

/// Calls body(reference) for each reference that is not null; it may change them.
void for_each(std::span<std::byte> references, const auto& body) {
  for (std::size_t at = 0; at < references.size(); at += sizeof(hobj_ref_t)) {
    hobj_ref_t reference{};
    std::memcpy(&reference, references.data() + at, sizeof reference);
    if (reference == 0) continue;
    body(reference);
    std::memcpy(references.data() + at, &reference, sizeof reference);
  }
}

}  // namespace

bool are_references(hid_t type) { return H5Tequal(type, H5T_STD_REF_OBJ) > 0; }

References::References(const DatasetName& from, std::span<const DatasetSpec> specs) : from_(from) {
  const Handle file = open_file(from.file), dataset = open_dataset(file, from);
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const Elements elements(dataset, space);
  std::vector<std::byte> all(elements.data().begin(), elements.data().end());
  for_each(all, [&](hobj_ref_t& reference) {
    if (targets_.contains(reference)) return;
    const Handle object(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, &reference), H5Oclose);
    Target target{object >= 0 ? path_of(object) : "", "", false};
    require(!target.from.empty(), ExitCode::bad_data,
            fmt::format("{} holds a reference to an object that does not exist; leave it out{}",
                        from.text(), option_or(" with --drop", "")));
    target.to = target.from;
    for (const DatasetSpec& spec : specs)
      for (const AttributesOf& one : spec.attributes)
        if (one.path == spec.path && one.from.file == from.file && one.from.path == target.from)
          target = {target.from, spec.path, true};
    targets_.emplace(reference, std::move(target));
  });
}

void References::copy_targets(hid_t file, std::vector<std::string>& created) const {
  const Handle input = open_file(from_.file);
  for (const auto& [reference, target] : targets_) {
    if (target.is_output) continue;
    const Handle object(H5Oopen(input, target.from.c_str(), H5P_DEFAULT), H5Oclose);
    const bool dataset = H5Iget_type(object) == H5I_DATASET;
    const Handle type(dataset ? H5Dget_type(object) : hid_t{-1}, H5Tclose);
    require(dataset && is_portable(type) && H5Tdetect_class(type, H5T_REFERENCE) == 0,
            ExitCode::bad_data,
            fmt::format("{} refers to '{}', which is a group or holds references itself and is not "
                        "copied; leave the column out{}",
                        from_.text(), target.from, option_or(" with --drop", "")));
    copy_whole(object, file, target.to, created);
  }
}

void References::translate(hid_t file, std::span<std::byte> references) const {
  std::map<hobj_ref_t, hobj_ref_t> made;
  for (const auto& [reference, target] : targets_)
    h5_check_rc(H5Rcreate(&made[reference], file, target.to.c_str(), H5R_OBJECT, -1),
                ExitCode::cannot_create, target.to);
  for_each(references, [&](hobj_ref_t& reference) { reference = made.at(reference); });
}

}  // namespace tessera::inline v1::io
