#include "io/notes.hpp"

#include "io/dataset.hpp"
#include "io/schema.hpp"

namespace tessera::inline v1::io {

Notes::Notes(const std::string& file) : name_(file), file_(open_file(file)) {
  require(H5Lexists(file_, schema::group, H5P_DEFAULT) > 0, ExitCode::bad_data,
          "'" + file + "' is not an output of Tessera; name one");
  require_complete(file_, file);
  group_ = Handle(h5_check(H5Gopen2(file_, schema::group, H5P_DEFAULT), ExitCode::bad_data, file),
                  H5Gclose);
}

bool Notes::has(const std::string& name) const { return has_attribute(group_, name); }
std::string Notes::text(const std::string& name) const { return read_text_attribute(group_, name); }
index_t Notes::integer(const std::string& name) const {
  return read_integer_attribute(group_, name);
}

std::string Notes::checksum(const std::string& path) const {
  return read_text_attribute(open_dataset(file_, {name_, path}), schema::checksum);
}

}  // namespace tessera::inline v1::io
