#include "lab/analyse/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/text.hpp"

namespace tessera::inline v1::analyse {
namespace {

/// An ELF file, of which parts are read.
class ElfFile {
 public:
  explicit ElfFile(const std::string& file) : in_(file, std::ios::binary) {}

  /// Returns `count` items at an offset; none if the file is too short.
  template <class T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t count) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // bytes: beyond that it is corrupt
    if (count > most / sizeof(T)) return {};
    std::vector<T> items(count);
    in_.clear();
    in_.seekg(static_cast<std::streamoff>(offset));
    in_.read(reinterpret_cast<char*>(items.data()),
             static_cast<std::streamsize>(count * sizeof(T)));
    if (!in_) items.clear();
    return items;
  }

 private:
  std::ifstream in_;
};

/// Removes what is between `open` and `close`, and both.
std::string without(const std::string& text, char open, char close) {
  std::string kept;
  int depth = 0;
  for (const char c : text) {
    if (c == open) ++depth;
    if (depth == 0) kept += c;
    if (c == close && depth > 0) --depth;
  }
  return kept;
}

/// Returns the demangled name; "" if it is none.
std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : "";
}

/// Removes arguments, template arguments and the type of the result.
std::string plain(const std::string& name) {
  const std::string kept = without(without(without(name, '<', '>'), '(', ')'), '[', ']');
  return std::string(trim(kept.substr(kept.rfind(' ') + 1)));
}

/// Returns the function in which the first lambda among the template arguments of a name is
/// written; "" if there is none. It is what a template that runs bodies of loops runs.
std::string owner_of_argument(const std::string& name) {
  const auto end = name.find("::{lambda");
  if (end == std::string::npos) return {};
  int depth = 0;
  for (auto at = end; at-- > 0;) {
    const char c = name[at];
    if (c == ')' || c == '>') ++depth;
    if (depth > 0 && (c == '(' || c == '<')) {
      --depth;
    } else if (depth == 0 && c == '<') {
      return name.substr(at + 1, end - at - 1);
    } else if (depth == 0 && c == ' ') {
      const bool inside = name.find_last_of('<', at) != std::string::npos;
      return inside && name[at - 1] == ',' ? name.substr(at + 1, end - at - 1) : "";
    }
  }
  return {};
}

}  // namespace

SymbolTable::SymbolTable(const std::string& file) {
  ElfFile elf(file);
  const auto headers = elf.read<Elf64_Ehdr>(0, 1);
  if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64)
    return;
  for (const Elf64_Phdr& part : elf.read<Elf64_Phdr>(headers[0].e_phoff, headers[0].e_phnum))
    if (part.p_type == PT_LOAD) segments_.push_back({part.p_offset, part.p_vaddr, part.p_filesz});
  const auto sections = elf.read<Elf64_Shdr>(headers[0].e_shoff, headers[0].e_shnum);
  const auto of = [&](Elf64_Word type) {
    return std::find_if(sections.begin(), sections.end(),
                        [=](const Elf64_Shdr& section) { return section.sh_type == type; });
  };
  auto table = of(SHT_SYMTAB);
  if (table == sections.end()) table = of(SHT_DYNSYM);
  if (table == sections.end() || table->sh_link >= sections.size()) return;
  std::vector<char> names =
      elf.read<char>(sections[table->sh_link].sh_offset, sections[table->sh_link].sh_size);
  names.push_back('\0');
  for (const Elf64_Sym& symbol :
       elf.read<Elf64_Sym>(table->sh_offset, table->sh_size / sizeof(Elf64_Sym))) {
    const auto type = ELF64_ST_TYPE(symbol.st_info);
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_size == 0 ||
        symbol.st_name >= names.size())
      continue;
    functions_.push_back(
        {symbol.st_value, symbol.st_value + symbol.st_size, &names[symbol.st_name]});
  }
  std::sort(functions_.begin(), functions_.end(), [](const Function& a, const Function& b) {
    return std::pair(a.begin, a.name) < std::pair(b.begin, b.name);
  });
}

std::string SymbolTable::at(std::uint64_t offset) const {
  for (const Segment& segment : segments_) {
    if (offset < segment.offset || offset >= segment.offset + segment.bytes) continue;
    const std::uint64_t address = offset - segment.offset + segment.address;
    auto after = std::upper_bound(
        functions_.begin(), functions_.end(), address,
        [](std::uint64_t value, const Function& function) { return value < function.begin; });
    if (after != functions_.begin() && address < (--after)->end) return after->name;
  }
  return {};
}

Mappings::Mappings(const std::string& maps) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string range, permissions, offset, device, inode, file;
    fields >> range >> permissions >> offset >> device >> inode;
    std::getline(fields >> std::ws, file);
    const auto dash = range.find('-');
    if (dash == std::string::npos) continue;
    const auto hex = [](const std::string& text) {
      return std::strtoull(text.c_str(), nullptr, 16);
    };
    all_.push_back({hex(range.substr(0, dash)), hex(range.substr(dash + 1)), hex(offset), file});
  }
}

Place Mappings::at(std::uint64_t address) {
  for (const Mapping& one : all_) {
    if (address < one.begin || address >= one.end) continue;
    auto table = tables_.find(one.file);
    if (table == tables_.end()) table = tables_.emplace(one.file, SymbolTable(one.file)).first;
    return {readable(table->second.at(address - one.begin + one.offset)),
            one.file.substr(one.file.rfind('/') + 1)};
  }
  return {};
}

std::string readable(const std::string& mangled) {
  const std::string symbol = mangled.substr(0, mangled.find('.'));
  std::string name = demangled(symbol);
  // The demangler rejects the functions behind lambdas that are converted to pointers: their owner.
  if (const auto lambda = symbol.rfind("ENUl");
      name.empty() && symbol.starts_with("_ZZ") && lambda != std::string::npos)
    name = demangled("_Z" + symbol.substr(3, lambda - 3));
  if (name.empty()) return symbol;
  using Pair = std::pair<std::string, std::string>;
  for (const auto& [noise, kept] : {Pair("(anonymous namespace)::", ""),
                                    Pair("tessera::v1::", "tessera::"), Pair(" const", "")})
    for (auto at = name.find(noise); at != std::string::npos; at = name.find(noise))
      name.replace(at, noise.size(), kept);
  if (const std::string owner = owner_of_argument(name); !owner.empty())
    return plain(owner) + "::{lambda}";
  return plain(name);
}

}  // namespace tessera::inline v1::analyse
