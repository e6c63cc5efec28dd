#include "run/inputs.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/note.hpp"
#include "base/text.hpp"
#include "io/probe.hpp"
#include "io/raw_file.hpp"
#include "mpi/agreement.hpp"
#include "mpi/launcher.hpp"
#include "run/understood.hpp"

namespace tessera::inline v1::run {
namespace {

/// Appends a text with its length in front.
void put(std::string& all, const std::string& text) {
  all += fmt::format("{} {}", text.size(), text);
}

std::string take(std::string_view& all) {
  const auto length =
      static_cast<std::size_t>(std::strtoull(std::string(all.substr(0, 20)).c_str(), nullptr, 10));
  all.remove_prefix(std::min(all.find(' '), all.size() - 1) + 1);
  const std::string text(all.substr(0, length));
  all.remove_prefix(text.size());
  return text;
}

}  // namespace

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

void Input::look_as_root() {
  if (!looked_) look();  // MPI's root is not the launcher's rank 0
  if (error_) throw *error_;
  if (!wants_values() || counted_) return;
  name_.packing = io::packing_of(name_, values_->fill, values_->filled);
}

/// Serialises the findings for the other ranks.
std::string Input::found() const {
  std::string all;
  for (const std::string& part : {name_.path, io::to_text(info_),
                                  name_.packing ? io::to_text(*name_.packing) : std::string()})
    put(all, part);
  return all;
}

void Input::take_found(const std::string& text) {
  std::string_view rest = text;
  if (name_.path != take(rest)) name_.selection = io::cut_selection(name_.path);  // as on root
  info_ = io::parse_dataset_info(take(rest));
  const std::string packing = take(rest);
  if (!packing.empty())
    name_.packing = std::make_shared<const io::Packing>(io::parse_packing(packing));
}

namespace {

index_t largest_chunk = 0;  // of this process's inputs, for its memory plans

void note_chunk(const io::DatasetInfo& info) {
  largest_chunk = std::max(largest_chunk, info.chunk_bytes());
}

}  // namespace

index_t largest_input_chunk() { return largest_chunk; }

std::vector<io::DatasetInfo> Input::share(const mpi::Communicator& comm,
                                          const std::vector<Input*>& inputs) {
  std::vector<io::DatasetInfo> infos;
  if (inputs.empty()) return infos;
  mpi::Agreement agreement(comm, "open input");
  std::vector<Fact> seen;
  for (Input* input : inputs) {
    agreement.check([&] {
      if (comm.is_root()) input->look_as_root();
    });
    if (comm.size() == 1) continue;
    for (Fact& fact : seen_of_file(input->name_.file)) seen.push_back(std::move(fact));
  }
  const Alike alike(agreement, std::move(seen));
  agreement.settle();
  require_same_file(comm, alike);
  std::string packed;
  for (const Input* input : inputs) put(packed, comm.is_root() ? input->found() : std::string());
  packed = comm.broadcast(packed, 0);
  std::string_view rest = packed;
  for (Input* input : inputs) {
    const std::string mine = take(rest);
    if (!comm.is_root()) input->take_found(mine);
    note_chunk(input->info_);
    infos.push_back(input->wants_values() ? input->values(comm) : input->info_);
  }
  return infos;
}

TableInput::TableInput(const std::string& text, const std::string& option, io::TableChoice choice)
    : name_(io::parse_table_name(text, option)), option_(option), choice_(std::move(choice)) {
  if (mpi::launcher_rank() == 0) look();
}

void TableInput::look() {
  looked_ = true;
  try {
    info_ = io::probe_table(name_);
    io::compare_dimensions(info_, name_, choice_.by);
    io::choose_columns(info_, name_, choice_);
    io::require_table(info_, name_);
    if (const std::string note = io::note_of_others(info_, name_); !note.empty()) print_note(note);
    if (!info_.left_out.empty())
      print_note(fmt::format("{} is sorted without {}, which {} no dataset{} with elements",
                             name_.text(), join(info_.left_out, ", "),
                             info_.left_out.size() == 1 ? "is" : "are",
                             info_.left_out.size() == 1 ? "" : "s"));
  } catch (const Error& error) {
    error_ = error;
    if (error.code() == ExitCode::missing_input && name_.path.ends_with(']'))
      error_ =
          Error(error.code(),
                fmt::format("{} (--{} does not accept a selection; name the dataset without [...])",
                            error.what(), option_));
  }
}

io::TableInfo TableInput::share(const mpi::Communicator& comm) {
  mpi::Agreement agreement(comm, "open input");
  agreement.check([&] {
    if (!comm.is_root()) return;
    if (!looked_) look();
    if (error_) throw *error_;
  });
  const Alike seen(agreement, comm.size() == 1 ? std::vector<Fact>{} : seen_of_file(name_.file));
  agreement.settle();
  require_same_file(comm, seen);
  io::TableInfo table =
      io::parse_table(comm.broadcast(comm.is_root() ? io::to_text(info_) : std::string(), 0));
  for (const io::Column& column : table.columns) note_chunk(column.info);
  io::choose_columns(table, name_, choice_);
  return table;
}

void require_distinct_files(const std::string& out, const io::DatasetName& input,
                            const std::string& option, const std::string& output) {
  require(out != input.file && !io::same_file(out, input.file), ExitCode::usage,
          "--" + output + " and --" + option + " name the same file '" + input.file +
              "': an output cannot replace an input; write to another file");
}

void require_own_file(const std::string& results, const OptionSet& options, const Parsed& parsed) {
  for (const Option& option : options.options()) {
    const std::string& text = parsed.lists.at(option.name).front();
    for (const std::string& name : io::split_names(text)) {
      const auto colon = io::end_of_file_name(name);
      if (option.kind != Kind::text || colon == std::string::npos) continue;
      require(!io::same_file(results, name.substr(0, colon)), ExitCode::usage,
              fmt::format("--results and --{} name the same file '{}': results need a separate "
                          "file; name another",
                          option.name, results));
    }
  }
}

}  // namespace tessera::inline v1::run
