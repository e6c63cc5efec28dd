// Checks of the place of an output, the same as in its creation.

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/option_names.hpp"
#include "base/threads.hpp"
#include "io/occupant.hpp"
#include "io/output_file.hpp"
#include "io/partials.hpp"
#include "io/raw_file.hpp"

namespace tessera::inline v1::io {
namespace {}  // namespace

void require_place_for_output(const DatasetName& output, OutputFile::Existing existing) {
  const std::string& file = output.file;
  require_file_or_nothing(file, "output");
  const std::string target = behind_links(file), directory = directory_of(target);
  require(std::filesystem::is_directory(directory), not_created,
          fmt::format("'{}' cannot be created: directory '{}' does not exist; create it first",
                      file, directory));
  require(access(directory.c_str(), W_OK | X_OK) == 0, not_created,
          fmt::format("'{}' cannot be created in '{}': {}; write elsewhere", file, directory,
                      std::strerror(errno)));
  const bool replaces = existing == OutputFile::Existing::replace;
  const Occupant occupant = occupant_of(target);
  require(occupant != Occupant::ours || replaces, not_created,
          fmt::format("output '{}' exists; pass {} to replace the whole file, or another name",
                      file, option_or("--overwrite", "Existing::replace")));
  if (occupant != Occupant::others) return;
  const DatasetSpec spec{.path = output.path, .shape = {}, .type = -1, .dimensions = {}};
  (void)Guest(target, file, std::span(&spec, 1),
              replaces ? Guest::Existing::replace : Guest::Existing::refuse);
}

}  // namespace tessera::inline v1::io
