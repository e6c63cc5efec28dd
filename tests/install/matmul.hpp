#pragma once
// A header of the program with the name of one of the library's.

namespace own {
struct Product {};
}  // namespace own
