// Inputs that the fuzzers found, one file each (corpus/<fuzzer>/<name>).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "stencil_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

/// Calls `work` for every text of a folder of the corpus.
void for_each_text(const std::string& folder, const std::function<void(const std::string&)>& work) {
  const char* corpus = std::getenv("TESSERA_CORPUS");
  ASSERT_NE(corpus, nullptr) << "name the folder of the corpus";
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(corpus) / folder))
    files.push_back(entry.path());
  ASSERT_FALSE(files.empty());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::fprintf(stderr, "%s\n", file.filename().c_str());  // names the input that ends the process
    work(std::string{std::istreambuf_iterator<char>(in), {}});
  }
}

TEST(Corpus, EveryRequestIsAnsweredOrRefusedInOneLine) {
  for_each_text("requests", [](const std::string& text) {
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()), 0);
  });
}

TEST(Corpus, EveryTextOfAStencilIsReadAgainAsItself) {
  for_each_text("stencils", tessera::fuzz::check_stencil_text);
}

}  // namespace
