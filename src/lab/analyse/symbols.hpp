#pragma once
// Names of the functions at addresses of a process, from its mappings and the symbol tables of the
// mapped ELF files; no debug information is needed.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera::inline v1::analyse {

/// A function and the file that holds it.
struct Place {
  std::string function;  ///< demangled, without arguments; "" if the file does not name it
  std::string module;    ///< name of the file without its folder; "" for an address of no mapping
};

/// Functions of one ELF file of 64 bits, from .symtab, otherwise .dynsym.
class SymbolTable {
 public:
  /// Reads the file; a file that is missing, stripped or of another kind gives an empty table.
  explicit SymbolTable(const std::string& file);
  /// Returns the mangled name of the function at an offset in the file; "" if unknown.
  [[nodiscard]] std::string at(std::uint64_t offset) const;

 private:
  struct Function {
    std::uint64_t begin, end;
    std::string name;
  };
  struct Segment {
    std::uint64_t offset, address, bytes;
  };
  std::vector<Function> functions_;  ///< by begin
  std::vector<Segment> segments_;
};

/// The mappings of a process.
class Mappings {
 public:
  explicit Mappings(const std::string& maps);  ///< text of /proc/PID/maps
  [[nodiscard]] Place at(std::uint64_t address);

 private:
  struct Mapping {
    std::uint64_t begin, end, offset;
    std::string file;
  };
  std::vector<Mapping> all_;
  std::map<std::string, SymbolTable> tables_;
};

/// Returns a readable name: demangled, without arguments, template arguments and namespaces without
/// a name.
[[nodiscard]] std::string readable(const std::string& mangled);

}  // namespace tessera::inline v1::analyse
