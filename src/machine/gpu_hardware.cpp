#include <filesystem>
#include <fstream>

#include "base/directory.hpp"
#include "machine/gpu.hpp"

namespace tessera::inline v1::machine {
namespace {

std::string word_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

}  // namespace

bool shows_gpu_hardware(const std::string& root) {
  std::error_code error;
  const std::filesystem::path devices = std::filesystem::path(root) / "sys/bus/pci/devices";
  if (std::filesystem::exists(std::filesystem::path(root) / "dev/nvidiactl", error)) return true;
  for (const std::string& device : names_in(devices)) {
    // 0x03....: display controllers, including 3D controllers, but not their audio devices.
    if (word_of(devices / device / "vendor") == "0x10de" &&
        word_of(devices / device / "class").starts_with("0x03"))
      return true;
  }
  return false;
}

}  // namespace tessera::inline v1::machine
