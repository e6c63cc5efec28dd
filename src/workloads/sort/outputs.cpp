// Output of sorted keys and columns.

#include <algorithm>

#include "workloads/sort/problem.hpp"

namespace tessera::workloads::sort {

std::size_t add_column(run::Outputs& outputs, const io::DatasetName& out, const Inputs& inputs,
                       const Problem& problem, const io::Column& column, index_t rows) {
  const io::DatasetName input = inputs.data->name(column);
  const std::string path =
      !problem.is_group ? out.path : (out.path == "/" ? "" : out.path) + "/" + column.name;
  std::vector<index_t> shape = column.info.shape;
  shape.front() = rows;
  const std::size_t place = outputs.add({out.file, path}, shape, io::stored_type(input));
  outputs.describe_as(place, input);
  if (problem.is_group && column.path == problem.carried.front().path)
    outputs.describe_group_as(place, inputs.data->name());
  return place;
}

std::size_t add_keys(run::Outputs& outputs, const io::DatasetName& out, const Inputs& inputs,
                     const Problem& problem, index_t rows) {
  const SortColumn& key = problem.by.front();
  if (problem.generated()) return outputs.add(out, {rows}, *key.form.number);
  const io::DatasetName input = inputs.data->name(key.column);
  const std::size_t place = outputs.add(
      out, {rows}, problem.form ? io::stored_type(input) : io::owned_type(*key.form.number));
  outputs.describe_as(place, input);
  return place;
}

void write_keys(const Problem& problem, run::Outputs& outputs, std::size_t place, index_t first,
                std::span<const std::byte> keys, const io::Onlooker& onlooker) {
  if (!problem.form || problem.form->is_as_held()) {
    outputs.write(place, first, keys, onlooker);
    return;
  }
  constexpr index_t piece = index_t{1} << 18;  // keys: at most 4 MiB in memory and in the file
  const io::NumberForm& form = *problem.form;
  const index_t held = form.held_bytes(), n = static_cast<index_t>(keys.size()) / held;
  std::vector<std::byte> stored(static_cast<std::size_t>(std::min(piece, n) * form.bytes()));
  for (index_t at = 0; at < n; at += piece) {
    const index_t some = std::min(piece, n - at);
    const auto bytes =
        keys.subspan(static_cast<std::size_t>(at * held), static_cast<std::size_t>(some * held));
    if (onlooker.look) onlooker.look(bytes);
    form.convert(bytes.data(), some, stored.data());
    outputs.write(place, first + at,
                  std::span(stored).first(static_cast<std::size_t>(some * form.bytes())));
  }
}

}  // namespace tessera::workloads::sort
