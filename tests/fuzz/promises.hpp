#pragma once
// What the program promises of every text that users write.

#include <functional>
#include <string>

namespace tessera::fuzz {

/// Ends the process.
[[noreturn]] void broken(const std::string& promise);

/// Right is that the work succeeds, or ends in one Error with words and a code that blames the
/// request; everything else ends the process.
void attempt(const std::function<void()>& work);

}  // namespace tessera::fuzz
