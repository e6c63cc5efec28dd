// Slabs of the input, read as stored or generated, and the output dataset.

#include <fmt/core.h>

#include <cstring>
#include <functional>

#include "base/progress.hpp"
#include "base/random.hpp"
#include "io/dataset.hpp"
#include "io/number_types.hpp"
#include "machine/fork_join.hpp"
#include "mpi/agreement.hpp"
#include "workloads/transpose/problem.hpp"

namespace tessera::inline v1::workloads::transpose {
namespace {

template <class T>
T element_at(std::uint64_t seed, std::uint64_t stream, index_t position) {
  if constexpr (std::is_floating_point_v<T>) {
    return random_symmetric<T>(seed, stream, position);
  } else {
    return static_cast<T>(random_bits(seed, stream, position));
  }
}

/// Sets to[0:count] to the elements at consecutive positions.
template <class T>
void generate_run(std::uint64_t seed, std::uint64_t stream, index_t first, index_t count,
                  std::byte* to) {
  for (index_t i = 0; i < count; ++i) {
    const T value = element_at<T>(seed, stream, first + i);
    std::memcpy(to + i * index_t{sizeof(T)}, &value, sizeof(T));
  }
}

/// Sets real and imaginary parts from separate positions.
template <class T>
void generate_complex(std::uint64_t seed, std::uint64_t stream, index_t first, index_t count,
                      std::byte* to) {
  generate_run<T>(seed, stream, 2 * first, 2 * count, to);
}

using GenerateRun = std::function<void(std::uint64_t, std::uint64_t, index_t, index_t, std::byte*)>;

/// Sets numbers that this machine has no type of: integers to random bits, reals to rounded f64.
GenerateRun generator_of(const io::NumberBits& form) {
  return [form](std::uint64_t seed, std::uint64_t stream, index_t first, index_t count,
                std::byte* to) {
    for (index_t i = 0; i < count; ++i, to += form.bytes) {
      if (form.real) {
        io::encode(form, io::number_of(element_at<double>(seed, stream, first + i)), to);
        continue;
      }
      const auto bits = element_at<std::uint64_t>(seed, stream, first + i);
      for (std::size_t b = 0; b < form.bytes; ++b)
        to[b] = static_cast<std::byte>(bits >> (8 * (b % sizeof bits)));
    }
  };
}

GenerateRun generator_of(const io::DatasetInfo& element) {
  const std::string type = element.type_text();
  if (type == "c64") return generate_complex<float>;
  if (type == "c128") return generate_complex<double>;
  if (type == "f32") return generate_run<float>;
  if (type == "f64") return generate_run<double>;
  const bool whole = element.kind == io::DatasetInfo::Kind::integer;
  if (whole && element.element_bytes == 1) return generate_run<std::uint8_t>;
  if (whole && element.element_bytes == 2) return generate_run<std::uint16_t>;
  if (whole && element.element_bytes == 4) return generate_run<std::uint32_t>;
  if (whole && element.element_bytes == 8) return generate_run<std::uint64_t>;
  return generator_of(io::find_number_type(type)->form);
}

/// Generates a slab, run by run along the last axis; positions are those in the whole array.
void generate(const Problem& problem, std::uint64_t stream, const std::vector<index_t>& extents,
              const std::vector<layout::Range>& slab, std::byte* to) {
  const GenerateRun run = generator_of(problem.element);
  const index_t count = slab.back().size();
  index_t runs = 1;
  for (std::size_t k = 0; k + 1 < slab.size(); ++k) runs *= slab[k].size();
  if (count == 0) return;
  const index_t grain = std::max<index_t>(1, (index_t{1} << 14) / count);
  machine::parallel(problem.method.tuning.threads, [&] {
    machine::parallel_for(0, runs, grain, [&](index_t begin, index_t end) {
      for (index_t r = begin; r < end; ++r) {
        index_t position = 0, stride = extents.back(), rest = r;
        for (std::size_t k = slab.size() - 1; k-- > 0;) {
          position += (slab[k].begin + rest % slab[k].size()) * stride;
          rest /= slab[k].size();
          stride *= extents[k];
        }
        run(problem.seed, stream, position + slab.back().begin, count,
            to + r * count * problem.element.element_bytes);
      }
      work_done().bytes_read += (end - begin) * count * problem.element.element_bytes;
    });
  });
}

}  // namespace

io::Handle type_of(const Problem& problem, const run::Input* input) {
  if (problem.as_stored) return io::stored_type(input->name());
  const bool named = input != nullptr && problem.element.kind == io::DatasetInfo::Kind::complex;
  return named ? io::complex_form(input->name(), problem.element.element_bytes)
               : io::number_type(problem.element);  // the file's names of the parts
}

void load(const Problem& problem, const Origin& origin, const std::vector<index_t>& extents,
          const std::vector<layout::Range>& slab, std::byte* to) {
  const bool generates = origin.input == nullptr;
  auto bytes = static_cast<double>(problem.element.element_bytes);
  for (const layout::Range& range : slab) bytes *= static_cast<double>(range.size());
  const Progress progress(generates ? "generate" : "read", bytes, Progress::Counts::bytes_read);
  if (generates) {
    generate(problem, origin.stream, extents, slab, to);
    return;
  }
  const io::Handle type = type_of(problem, origin.input);
  io::read_slab(origin.input->name(), slab,
                {type, to, problem.element.element_bytes, slab.back().size()});
}

run::Outputs open_output(const Point& point, const std::string& identity) {
  run::Outputs outputs;
  if (!point.problem.out.empty()) {
    mpi::together(point.comm, "create output", [&] {
      const run::Input* const input = point.inputs.in.get();
      const std::size_t place =
          outputs.add(io::parse_dataset_name(point.problem.out, "out"),
                      point.problem.result_extents(), type_of(point.problem, input));
      if (input == nullptr) return;
      outputs.describe_as(place, input->name());
      outputs.place_as(place, {input->name(), point.problem.order()});
      outputs.store_as(place, {input->name(), point.problem.order()});
    });
  }
  outputs.open(point.comm, point.values, identity);
  return outputs;
}

}  // namespace tessera::inline v1::workloads::transpose
