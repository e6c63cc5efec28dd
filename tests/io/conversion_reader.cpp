// Reads datasets as numbers of other types. Input: lines "path element" for datasets of the named
// file. Output for each: a line "held BYTES" followed by the elements' bytes, or a line "refused
// WORDS".

#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "io/dataset.hpp"

namespace {

using namespace tessera;

template <class T>
std::vector<std::byte> complex_matrix(const io::DatasetName& name,
                                      const std::vector<index_t>& shape) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(Complex<T>));
  auto* const data = reinterpret_cast<Complex<T>*>(bytes.data());
  io::read_box(name, layout::Box{{0, shape[0]}, {0, shape[1]}},
               MatrixView<Complex<T>>{data, shape[0], shape[1], shape[1]});
  return bytes;
}

std::vector<std::byte> read(const io::DatasetName& name, Element element) {
  const io::Handle file = io::open_file(name.file);
  const io::DatasetInfo info = io::inspect(io::open_dataset(file, name), name);
  if (element == Element::c64) return complex_matrix<float>(name, info.shape);
  if (element == Element::c128) return complex_matrix<double>(name, info.shape);
  index_t count = 1;
  std::vector<layout::Range> slab;
  for (const index_t extent : info.shape) {
    count *= extent;
    slab.push_back({0, extent});
  }
  const hid_t type = io::native_type(element);
  const auto element_bytes = static_cast<index_t>(H5Tget_size(type));
  std::vector<std::byte> to(static_cast<std::size_t>(count * element_bytes));
  io::read_slab(name, slab, {type, to.data(), element_bytes, info.shape.back()});
  return to;
}

Element element_named(const std::string& word) {
  for (const auto& rows :
       {std::span<const ElementInfo>(elements), std::span<const ElementInfo>(complex_elements),
        std::span<const ElementInfo>(&half_element, 1)})
    for (const ElementInfo& row : rows)
      if (row.name == word) return row.element;
  throw Error(ExitCode::usage, "no element '" + word + "'");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  std::string path, element;
  while (std::cin >> path >> element) {
    try {
      const std::vector<std::byte> bytes = read({argv[1], path}, element_named(element));
      std::cout << "held " << bytes.size() << "\n";
      std::cout.write(reinterpret_cast<const char*>(bytes.data()),
                      static_cast<std::streamsize>(bytes.size()));
    } catch (const Error& error) {
      std::cout << "refused " << error.what() << "\n";
    }
  }
  return 0;
}
