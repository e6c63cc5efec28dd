// Output of sorted keys and columns.

#include <algorithm>

#include "workloads/sort/problem.hpp"

namespace tessera::inline v1::workloads::sort {

namespace {

constexpr auto group_of = &run::Outputs::group_of;

std::string joined(const std::string& group, const std::string& name) {
  return (group == "/" ? "" : group) + "/" + name;
}

/// Returns the path of a column in the output: a coordinate in the table's group is in the
/// output's.
std::string path_in(const io::DatasetName& out, const Inputs& inputs, const Problem& problem,
                    const io::Column& column) {
  const std::string& table = inputs.data->name().path;
  const bool is_member = problem.is_group && column.path == joined(table, column.name);
  if (is_member) return joined(out.path, column.name);
  if (column.path == table) return out.path;
  const bool near = group_of(column.path) == group_of(table);
  return joined(near ? group_of(out.path) : "/", column.name);
}

/// Declares what accompanies the columns of a table: attributes of groups, unchanged datasets.
void add_company(run::Outputs& outputs, std::size_t place, const io::DatasetName& out,
                 const Inputs& inputs, const Problem& problem) {
  const io::DatasetName& input = inputs.data->name();
  if (!problem.is_group)
    return outputs.describe_groups_as(place, group_of(out.path),
                                      {input.file, group_of(input.path)});
  outputs.describe_groups_as(place, out.path, input);
  io::DatasetSpec& spec = outputs.spec(place);
  for (const std::string& part : problem.parts)
    spec.attributes.push_back({joined(out.path, part), {input.file, joined(input.path, part)}});
  for (const io::Column& column : problem.unchanged)
    spec.copies.push_back({joined(out.path, column.name), inputs.data->name(column)});
}

}  // namespace

std::size_t add_column(run::Outputs& outputs, const io::DatasetName& out, const Inputs& inputs,
                       const Problem& problem, const io::Column& column, index_t rows) {
  const io::DatasetName input = inputs.data->name(column);
  std::vector<index_t> shape = column.info.shape;
  shape.front() = rows;
  const std::size_t place =
      outputs.add({out.file, path_in(out, inputs, problem, column)}, shape, io::stored_type(input));
  outputs.describe_as(place, input);
  if (column.has_scales) outputs.spec(place).coordinates = io::CoordinatesOf{input, {}, true};
  if (column.path == problem.carried.front().path)
    add_company(outputs, place, out, inputs, problem);
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
  outputs.describe_groups_as(place, group_of(out.path), {input.file, group_of(input.path)});
  if (key.column.has_scales) outputs.spec(place).coordinates = io::CoordinatesOf{input, {}, true};
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

}  // namespace tessera::inline v1::workloads::sort
