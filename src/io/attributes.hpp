#pragma once
// Copies of attributes from inputs to outputs: units, descriptions, and all others of users.

#include <string>

#include "io/h5.hpp"

namespace tessera::inline v1::io {

/// Treatment of the attributes of packed or missing numbers: copied if they apply to the output,
/// left out if the output holds unpacked values.
enum class PackingAttributes { copied, omitted };

/// Copies the attributes of an input's object, which `name` names in errors, to an output's. Skips
/// those that `to` already has, and those specific to the input's file or form: references,
/// dimension scales and labels, CLASS, Tessera's checksum, and a _FillValue of another type than
/// the data. Throws Error(bad_data) if one cannot be read, Error(io) if one cannot be
/// written.
void copy_attributes(hid_t from, hid_t to, const std::string& name, PackingAttributes packing);

/// Reads all attributes that copy_attributes() would copy. Throws Error(bad_data).
void read_attributes(hid_t from, const std::string& name);

}  // namespace tessera::inline v1::io
