#include "run/file_traffic.hpp"

#include <algorithm>

#include "io/schema.hpp"

namespace tessera::inline v1::run {
namespace {

io::TableRows& table_of(Measured& measured) {
  const auto found =
      std::find_if(measured.tables.begin(), measured.tables.end(),
                   [](const io::TableRows& one) { return one.table == io::schema::files; });
  if (found != measured.tables.end()) return *found;
  return measured.tables.emplace_back(io::TableRows{io::schema::files, {}});
}

}  // namespace

void note_traffic(const mpi::Communicator& comm, const io::FileTraffic& mine, index_t repetition,
                  Measured& measured) {
  const std::vector<index_t> read = comm.all_gather(mine.bytes_read),
                             written = comm.all_gather(mine.bytes_written);
  const std::vector<double> waited = comm.all_gather(mine.waited);
  const auto is_any = [](index_t bytes) { return bytes > 0; };
  if (std::none_of(read.begin(), read.end(), is_any) &&
      std::none_of(written.begin(), written.end(), is_any))
    return;
  std::vector<io::Row>& rows = table_of(measured).rows;
  for (std::size_t r = 0; r < read.size(); ++r) {
    rows.push_back({{"repetition", repetition, ""},
                    {"rank", static_cast<index_t>(r), ""},
                    {"bytes_read", read[r], "B"},
                    {"bytes_written", written[r], "B"},
                    {"waited", waited[r], "s"}});
  }
}

}  // namespace tessera::inline v1::run
