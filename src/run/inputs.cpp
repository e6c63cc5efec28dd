#include "run/inputs.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "io/probe.hpp"
#include "io/raw_file.hpp"
#include "mpi/agreement.hpp"
#include "mpi/launcher.hpp"
#include "run/understood.hpp"

namespace tessera::run {

Input::Input(const std::string& text, const std::string& option)
    : name_(io::parse_dataset_name(text, option)) {
  if (mpi::launcher_rank() == 0) look();
}

void Input::look() {
  looked_ = true;
  try {
    info_ = io::probe(name_);
    info_ = io::selected(std::move(info_), name_);
  } catch (const Error& error) {
    error_ = error;
  }
}

io::DatasetInfo Input::share(const mpi::Communicator& comm) {
  mpi::on_root(comm, "open input", [&] {
    if (!looked_) look();  // MPI calls another rank root than the launcher did
    if (error_) throw *error_;
  });
  require_same_file(comm, name_.file);
  const std::string path = comm.broadcast(comm.is_root() ? name_.path : std::string(), 0);
  if (name_.path != path) name_.selection = io::cut_selection(name_.path);  // as root did
  io::DatasetInfo info = info_;
  auto rank = static_cast<index_t>(info.shape.size()), chunk_rank = static_cast<index_t>(info.chunk.size());
  auto kind = static_cast<index_t>(info.kind);
  auto is_signed = index_t{info.is_signed}, self_contained = index_t{info.self_contained};
  for (index_t* value : {&rank, &chunk_rank, &kind, &is_signed, &self_contained, &info.element_bytes})
    comm.broadcast(std::span(value, 1), 0);
  info.shape.resize(static_cast<std::size_t>(rank));
  comm.broadcast(std::span(info.shape), 0);
  info.chunk.resize(static_cast<std::size_t>(chunk_rank));
  comm.broadcast(std::span(info.chunk), 0);
  info.other = comm.broadcast(info.other, 0);
  info.kind = static_cast<io::DatasetInfo::Kind>(kind);
  info.is_signed = is_signed != 0;
  info.self_contained = self_contained != 0;
  return values_ && !values_->raw ? values(comm, std::move(info)) : info;
}

TableInput::TableInput(const std::string& text, const std::string& option)
    : name_(io::parse_table_name(text, option)), option_(option) {
  if (mpi::launcher_rank() == 0) look();
}

void TableInput::look() {
  looked_ = true;
  try {
    info_ = io::probe_table(name_);
    io::require_table(info_, name_);
    if (!info_.left_out.empty())
      fmt::print(stderr, "{} is sorted without {}, which {} no dataset{}\n", name_.text(),
                 join(info_.left_out, ", "), info_.left_out.size() == 1 ? "is" : "are",
                 info_.left_out.size() == 1 ? "" : "s");
  } catch (const Error& error) {
    error_ = error;
    if (error.code() == ExitCode::missing_input && name_.path.ends_with(']'))
      error_ = Error(error.code(), fmt::format("{} (--{} takes no part of a dataset; name it without [...])",
                                               error.what(), option_));
  }
}

io::TableInfo TableInput::share(const mpi::Communicator& comm) {
  mpi::on_root(comm, "open input", [&] {
    if (!looked_) look();
    if (error_) throw *error_;
  });
  require_same_file(comm, name_.file);
  return io::parse_table(comm.broadcast(comm.is_root() ? io::to_text(info_) : std::string(), 0));
}

void require_distinct_files(const std::string& out, const io::DatasetName& input, const std::string& option,
                            const std::string& output) {
  require(out != input.file && !io::same_file(out, input.file), ExitCode::usage,
          "--" + output + " and --" + option + " name the same file '" + input.file +
              "' (an output never goes where data is read from); write to another file");
}

void require_own_file(const std::string& results, const OptionSet& options, const Parsed& parsed) {
  for (const Option& option : options.options()) {
    const std::string& text = parsed.lists.at(option.name).front();
    for (const std::string& name : io::split_names(text)) {
      const auto colon = io::end_of_file_name(name);
      if (option.kind != Kind::text || colon == std::string::npos) continue;
      require(!io::same_file(results, name.substr(0, colon)), ExitCode::usage,
              fmt::format(
                  "--results and --{} name the same file '{}' (results are added to a file of their own); "
                  "name another",
                  option.name, results));
    }
  }
}

}  // namespace tessera::run
