#include "workloads/sort/external/content.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "machine/pages.hpp"
#include "mpi/agreement.hpp"

namespace tessera::inline v1::workloads::sort {

RowContent::RowContent(const Inputs& inputs, const Problem& problem)
    : inputs_(inputs), problem_(problem) {
  for (const io::Column& column : problem.carried)
    if (!column.info.self_contained) columns_.push_back(&column);
}

void RowContent::add_to(run::Outputs& outputs, index_t rows) {
  places_.clear();
  rows_ = rows;
  if (!any()) return;
  const io::DatasetName out = io::parse_table_name(problem_.out, "out");
  for (const io::Column* column : columns_)
    places_.push_back(add_column(outputs, out, inputs_, problem_, *column, rows));
}

void RowContent::begin(const mpi::Communicator& comm, const std::string& file) {
  if (!any()) return;
  file_ = file;
  mpi::on_root(comm, "create runs", [&] {
    std::error_code none;
    std::filesystem::remove(file, none);  // of an earlier attempt
    io::create_new_file(file);
  });
  mpi::together(comm, "create runs", [&] { order_.emplace(file, io::RawFile::Mode::read_write); });
}

void RowContent::keep(index_t first, std::span<const std::byte> numbers) const {
  if (order_) order_->write_at(first * index_t{sizeof(std::uint64_t)}, numbers);
}

void RowContent::carry(const mpi::Communicator& comm, RowPieces& pieces, run::Outputs& outputs,
                       index_t memory) {
  if (!any()) return;
  pieces.prepare(0);
  machine::give_back_released();
  const auto read = [&](index_t first, std::span<std::uint64_t> numbers) {
    order_->read_at(first * index_t{sizeof(std::uint64_t)}, std::as_writable_bytes(numbers));
  };
  mpi::on_root(comm, "write", [&] {
    for (std::size_t c = 0; c < columns_.size(); ++c)
      outputs.write_rows_of(places_[c], inputs_.data->name(*columns_[c]), {rows_, read, memory});
  });
  order_.reset();
}

bool is_carried_in_rounds(const Problem& problem, const io::Column& column) {
  return problem.task == Task::permutation && !problem.generated() && !holds_references(column);
}

}  // namespace tessera::inline v1::workloads::sort
