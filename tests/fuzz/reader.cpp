// Reads files as the program does, each in a separate process: damaged.py sends lines
// "how<TAB>file<TAB>path" and receives "code<TAB>words" or "-signal<TAB>".

#include <iostream>
#include <string>

#include "base/text.hpp"
#include "io/h5.hpp"
#include "reading.hpp"

int main() {
  using namespace tessera;
  io::quiet_errors();
  for (std::string line; std::getline(std::cin, line);) {
    const auto words = split(line, '\t');
    if (words.size() != 3) return 1;
    const fuzz::Ending ending =
        fuzz::apart([&] { return fuzz::answer(words[0], words[1], words[2]); });
    std::cout << ending.code << '\t' << printable(ending.words) << std::endl;
  }
  return 0;
}
