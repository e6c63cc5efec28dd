#include <filesystem>
#include <fstream>

#include "machine/gpu.hpp"

namespace tessera::machine {
namespace {

std::string word_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

}  // namespace

bool shows_gpu_hardware(const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(fs::path(root) / "dev/nvidiactl", error)) return true;
  for (fs::directory_iterator device(fs::path(root) / "sys/bus/pci/devices", error), end;
       !error && device != end; device.increment(error)) {
    // 0x03....: display controllers, 3D controllers among them; their sound devices are others.
    if (word_of(device->path() / "vendor") == "0x10de" &&
        word_of(device->path() / "class").starts_with("0x03"))
      return true;
  }
  return false;
}

}  // namespace tessera::machine
