// Mutations for the fuzzer of looks: numbers and pieces of the metadata and single bits, as in
// damaged.py.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace tessera::fuzz {
namespace {

constexpr std::array<std::uint64_t, 16> numbers{
    0,        1,      2,          7,          8,          32,         255,        4096,
    1u << 15, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 62, ~0ull >> 1, ~0ull};

/// Returns the offsets of an HDF5 file's structures.
std::vector<std::size_t> structures(std::string_view file) {
  constexpr std::array<std::string_view, 12> signatures{"\x89HDF", "TREE", "HEAP", "SNOD",
                                                        "OHDR",    "GCOL", "FRHP", "BTHD",
                                                        "FADB",    "EAHD", "OCHK", "FHDB"};
  std::vector<std::size_t> places;
  for (const std::string_view signature : signatures)
    for (auto at = file.find(signature); at != std::string_view::npos;
         at = file.find(signature, at + 4))
      places.push_back(at);
  if (places.empty()) places.push_back(0);
  return places;
}

class Damage {
 public:
  Damage(std::span<std::uint8_t> file, unsigned seed)
      : file_(file),
        places_(structures({reinterpret_cast<const char*>(file.data()), file.size()})),
        random_(seed) {}

  void change() {
    const std::size_t at = place();
    switch (pick(6)) {
      case 0:
        file_[at] = static_cast<std::uint8_t>(file_[at] ^ (1u << pick(8)));
        break;
      case 1:
        for (std::size_t i = 0, count = std::size_t{1} << pick(5);
             i < count && at + i < file_.size(); ++i)
          file_[at + i] = static_cast<std::uint8_t>(pick(256));
        break;
      case 2:
        write_number(at);
        break;
      case 3:
        copy(places_[pick(places_.size())], at, std::size_t{8} << pick(5));
        break;
      case 4:
        std::fill_n(file_.begin() + static_cast<std::ptrdiff_t>(at),
                    std::min(file_.size() - at, std::size_t{4} << pick(5)), std::uint8_t{0});
        break;
      default:
        file_[at] = static_cast<std::uint8_t>(file_[at] + (pick(2) == 0 ? 1 : -1));
    }
  }

  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

 private:
  /// Returns an offset, usually after the beginning of a structure.
  std::size_t place() {
    if (pick(10) < 3) return pick(file_.size());
    const double behind = std::exponential_distribution<double>(1.0 / 120)(random_);
    return std::min(file_.size() - 1,
                    places_[pick(places_.size())] + static_cast<std::size_t>(behind));
  }

  void write_number(std::size_t at) {
    const std::size_t bytes = std::size_t{1} << pick(4);
    const std::size_t which = pick(numbers.size() + places_.size() + 1);
    const std::uint64_t number = which < numbers.size()    ? numbers[which]
                                 : which == numbers.size() ? file_.size()
                                                           : places_[which - numbers.size() - 1];
    at -= at % bytes;
    std::memcpy(&file_[at], &number, std::min(bytes, file_.size() - at));
  }

  void copy(std::size_t from, std::size_t to, std::size_t bytes) {
    std::memmove(&file_[to], &file_[from], std::min(bytes, file_.size() - std::max(from, to)));
  }

  std::span<std::uint8_t> file_;
  std::vector<std::size_t> places_;
  std::mt19937 random_;
};

}  // namespace
}  // namespace tessera::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (size < 2 || seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  tessera::fuzz::Damage damage({data + 1, size - 1}, seed);
  if (damage.pick(10) == 0) data[0] = static_cast<std::uint8_t>(damage.pick(5));
  for (std::size_t change = 0, count = std::size_t{1} << damage.pick(4); change < count; ++change)
    damage.change();
  if (damage.pick(30) == 0) return 2 + damage.pick(size - 1);  // truncates
  return size;
}
