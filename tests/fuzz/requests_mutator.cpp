// Mutations of requests: mostly whole options and values, else bytes.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "requests.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace tessera::fuzz {
namespace {

constexpr std::array words{"0",
                           "1",
                           "-1",
                           "2",
                           "7",
                           "100",
                           "4096",
                           "1000000",
                           "9223372036854775807",
                           "-9223372036854775808",
                           "4e18",
                           "1e6",
                           "1e-310",
                           "1e308",
                           "1e-400",
                           "nan",
                           "inf",
                           "0x10",
                           "1:8",
                           "1:1000000:x2",
                           "8:4",
                           "1:9:0",
                           "0:100000",
                           "-9223372036854775808:-9223372036854775800:100",
                           "1,2,3",
                           ",",
                           "",
                           "64MiB",
                           "1.5G",
                           "1e300",
                           "1e18 B",
                           "2GB",
                           "x",
                           "2x3",
                           "4294967296x4294967297",
                           "64x64x64",
                           "1000",
                           "0x0",
                           "2,0,1",
                           "1,0",
                           "0,1,2,3,4,5,6,7",
                           "true",
                           "off",
                           "a.h5:/A",
                           "a.h5:/A[0:3,-2:]",
                           "a.h5:/u,/v",
                           "a.h5:/u,b.h5:/v[1:],/w",
                           "a.h5:/u,,/v",
                           ",/v",
                           "a.h5:/A[9223372036854775807]",
                           "a.h5:/A[-9223372036854775808:,:]",
                           "/x[:]",
                           "clamp",
                           "periodic",
                           "mirror",
                           "constant:1.5",
                           "x=mirror,y-=clamp",
                           "z+=constant:2",
                           "given",
                           "0 1 0; 1 -4 1; 0 1 0",
                           "1 / 1 / 1",
                           ";",
                           "/",
                           "600s",
                           "1000",
                           "1e15s",
                           "10,20; 3,4",
                           "0:1",
                           "auto",
                           "naive",
                           "f32",
                           "c128",
                           "u8",
                           "time",
                           "-time,id:desc",
                           "T",
                           "H",
                           "N"};

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  void change(Input& input) {
    switch (pick(10)) {
      case 0:
        input.command =
            pick(6) == 0 ? "values" : commands()[pick(commands().size())].options.command();
        break;
      case 1:
        drop(input.arguments);
        break;
      case 2:
        input.has_toml = pick(4) != 0;
        break;
      case 3:
      case 4:
      case 5:
        if (input.command == "values") {
          input.arguments.push_back(value());
        } else {
          add_argument(input);
        }
        break;
      case 6:
        add_key(input);
        break;
      case 7:
        if (!input.arguments.empty()) splice(input.arguments[pick(input.arguments.size())]);
        break;
      case 8:
        splice(input.toml);
        break;
      default:
        if (!input.arguments.empty()) change_bytes(input.arguments[pick(input.arguments.size())]);
        if (!input.toml.empty() && pick(2) == 0) change_bytes(input.toml);
    }
  }

 private:
  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }

  const run::Option& option(const Input& input) {
    const auto& options = command_of(input.command).options.options();
    return options[pick(options.size())];
  }

  std::string value() {
    std::string text = words[pick(words.size())];
    if (pick(5) == 0) text += (pick(2) == 0 ? "," : ":") + std::string(words[pick(words.size())]);
    return text;
  }

  std::string value(const run::Option& option) {
    if (!option.choices.empty() && pick(3) != 0) {
      std::string text = option.choices[pick(option.choices.size())];
      if (option.axis && pick(3) == 0) text += "," + option.choices[pick(option.choices.size())];
      return text;
    }
    return pick(8) == 0 ? option.fallback : value();
  }

  void add_argument(Input& input) {
    const run::Option& chosen = option(input);
    if (chosen.kind == run::Kind::flag) {
      input.arguments.push_back("--" + chosen.name);
    } else if (chosen.positional) {
      input.arguments.push_back(value(chosen));
    } else {
      input.arguments.push_back("--" + chosen.name + "=" + value(chosen));
    }
  }

  void add_key(Input& input) {
    input.has_toml = true;
    const run::Option& chosen = option(input);
    const std::string text = value(chosen);
    const std::array forms{text,
                           "\"" + text + "\"",
                           "[" + text + "]",
                           "[\"" + text + "\", \"" + value(chosen) + "\"]",
                           "[[" + text + "], [1, 2]]",
                           "'''" + text + "'''"};
    input.toml += chosen.name + " = " + forms[pick(forms.size())] + "\n";
  }

  void drop(std::vector<std::string>& list) {
    if (!list.empty()) list.erase(list.begin() + static_cast<std::ptrdiff_t>(pick(list.size())));
  }

  /// Replaces some of the text by a word.
  void splice(std::string& text) {
    const std::size_t at = pick(text.size() + 1),
                      length = pick(std::min<std::size_t>(8, text.size() - at) + 1);
    text.replace(at, length, words[pick(words.size())]);
  }

  void change_bytes(std::string& text) {
    const std::size_t size = text.size();
    text.resize(size + 16);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
    std::replace(text.begin(), text.end(), '\0', '0');
  }

  std::mt19937 random_;
};

}  // namespace
}  // namespace tessera::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  using namespace tessera::fuzz;
  if (seed % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  Input input = read_input(data, size);
  Mutator mutator(seed);
  for (unsigned change = 0; change <= seed / 8 % 4; ++change) mutator.change(input);
  const std::string text = to_text(input);
  const std::size_t length = std::min(text.size(), most);
  std::memcpy(data, text.data(), length);
  return length;
}

/// Discards the printed plans.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  return std::freopen("/dev/null", "w", stdout) == nullptr ? 1 : 0;
}
