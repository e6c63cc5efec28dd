#pragma once
// Attributes that go along with data: units, descriptions, whatever a user has written.

#include <string>

#include "io/h5.hpp"

namespace tessera::io {

/// What the attributes of packed or missing numbers are for the output: they hold for it, or it has
/// values.
enum class PackingAttributes { go_along, are_left_out };

/// Gives an object of an output the attributes of one of an input that `name` names in errors,
/// those left out that `to` has already and that hold for the input's file or form only:
/// references, dimension scales and labels, CLASS, our checksum, and a _FillValue of another type
/// than the data. Throws Error(bad_data) where one cannot be read, Error(cannot_create) where one
/// cannot be written.
void copy_attributes(hid_t from, hid_t to, const std::string& name, PackingAttributes packing);

/// Reads all that copy_attributes() would. Throws Error(bad_data).
void read_attributes(hid_t from, const std::string& name);

}  // namespace tessera::io
