#include "io/run_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/note.hpp"

namespace tessera::inline v1::io {
namespace {

/// Returns whether rows of both have the same columns of the same types.
bool alike(const Row& a, const Row& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Cell& x, const Cell& y) {
    return x.column == y.column && x.value.index() == y.value.index();
  });
}

/// Adds a table's rows to those of the same table, if they are alike.
void merge(std::vector<TableRows>& all, const TableRows& more) {
  if (more.rows.empty()) return;
  for (TableRows& table : all) {
    if (table.table != more.table || !alike(table.rows.front(), more.rows.front())) continue;
    table.rows.insert(table.rows.end(), more.rows.begin(), more.rows.end());
    return;
  }
  all.push_back(more);
}

}  // namespace

RunWriter::~RunWriter() {
  try {
    store();
  } catch (const Error& e) {
    print_note(fmt::format("the last rows of the results were lost: {}", e.what()));
  }
}

void RunWriter::add(const std::map<std::string, Value>& attributes,
                    const std::vector<TableRows>& tables) {
  attributes_ = attributes;
  for (const TableRows& table : tables) merge(waiting_, table);
  if (run_.empty() || since_stored_.seconds() > 20 * storing_) store();
}

void RunWriter::store() {
  if (waiting_.empty()) return;
  const std::vector<TableRows> tables = std::exchange(waiting_, {});
  const Timer timer;
  if (run_.empty())
    run_ = append_new_run(file_, workload_, attributes_, tables);
  else
    append_results(file_, run_, attributes_, tables);
  storing_ = timer.seconds();
  since_stored_.restart();
}

}  // namespace tessera::inline v1::io
