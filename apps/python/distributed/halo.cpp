// Plans of halo exchanges.

#include "distributed/operations.hpp"

namespace tessera::python {

Halo::Halo(const Ranks& ranks, const HaloArguments& arguments, const std::string& options)
    : low_(arguments.shape.size()), high_(arguments.shape.size()) {
  const int type = type_of(arguments.dtype);
  const std::vector<int> grid(arguments.grid.begin(), arguments.grid.end());
  call([&] {
    return tessera_halo_plan_create(
        ranks.handle(), type, static_cast<int>(arguments.shape.size()), arguments.shape.data(),
        arguments.widths.data(), grid.empty() ? nullptr : grid.data(), arguments.boundary.c_str(),
        arguments.value, arguments.fields, options.c_str(), &handle_);
  });
  call([&] { return tessera_halo_plan_box(handle_, low_.data(), high_.data()); });
}

Halo::~Halo() { [[maybe_unused]] const int code = tessera_halo_plan_free(&handle_); }

index_t Halo::bytes() const {
  index_t bytes = 0;
  call([&] { return tessera_halo_plan_bytes(handle_, &bytes); });
  return bytes;
}

void Halo::start(const std::vector<std::uintptr_t>& addresses,
                 const std::vector<index_t>& strides) {
  std::vector<void*> fields;
  for (const std::uintptr_t address : addresses)
    fields.push_back(reinterpret_cast<void*>(address));  // NOLINT: of numpy and CUDA
  call([&] { return tessera_halo_plan_start(handle_, fields.data(), strides.data()); });
}

void Halo::wait() {
  call([&] { return tessera_halo_plan_wait(handle_); });
}

}  // namespace tessera::python
