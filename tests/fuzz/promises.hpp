#pragma once
// Promises of the program for every text that users write.

#include <functional>
#include <string>

namespace tessera::fuzz {

/// Ends the process.
[[noreturn]] void broken(const std::string& promise);

/// Runs the work. It may succeed, or throw one Error with a message and a code that blames the
/// request; everything else ends the process.
void attempt(const std::function<void()>& work);

}  // namespace tessera::fuzz
