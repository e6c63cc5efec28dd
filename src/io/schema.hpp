#pragma once
// Every name that appears in a file of ours, and the version of the whole.

namespace tessera::io::schema {

inline constexpr int version = 1;  // of a results file
inline constexpr int output_version =
    2;  // of an output file; before 2, single bytes were summed like others

// In an output file.
inline constexpr const char* group =
    "_tessera";  // attributes of the group: state, provenance, verdict
inline constexpr const char* state = "state";
inline constexpr const char* state_incomplete = "incomplete";
inline constexpr const char* state_complete = "complete";
inline constexpr const char* schema_version = "tessera_schema";
inline constexpr const char* datasets = "datasets";  // what a run wrote there, a line each
// In a file of others, to which datasets were added: there is this attribute of the group, and of
// each run a group in it with what an output file has as attributes of the group itself.
inline constexpr const char* guest = "added_to_a_file_of_others";
inline constexpr const char* added = "added";  // _0001
// Of an output that was stopped: what it is of, how to go on, the elements of each dataset that are
// written.
inline constexpr const char* stopped_problem = "stopped_problem";
inline constexpr const char* stopped_state = "stopped_state";
inline constexpr const char* stopped_written = "stopped_written";
inline constexpr const char* stopped_over =
    "stopped_over";  // the file of others that it is a copy of
inline constexpr const char* checksum = "tessera_checksum";  // attribute of every dataset of ours

// In a results file: one group a run, inside it tables as groups of columns of equal length.
inline constexpr const char* samples = "samples";  // a row is one repetition
inline constexpr const char* phases = "phases";  // a row is one phase of one repetition on one rank
inline constexpr const char* files =
    "files";  // a row is what one rank read and wrote in one repetition beside its phases
inline constexpr const char* wall = "wall";  // a row is one phase of a process, from its start to
                                             // the end of the run: they add up to its wall time
inline constexpr const char* timeline =
    "timeline";  // with --timeline, a row is one stay of a rank in a phase
inline constexpr const char* device_timeline =
    "device_timeline";  // a row is one stay of a transfer or kernel on a GPU, in the last
                        // repetition
inline constexpr const char* ranks = "ranks";      // a row is one rank
inline constexpr const char* summary = "summary";  // a row is one configuration
inline constexpr const char* machine = "machine";  // a row is one measured ceiling
inline constexpr const char* scalability =
    "scalability";  // a row is one kernel as it forks for so many processors: work, span, bounds,
                    // speed-up
inline constexpr const char* counters =
    "counters";  // a row is one repetition: what the hardware counted, or -1: what a simulator says
inline constexpr const char* simulated =
    "simulated";  // a row is one configuration: misses as simulators count
// In a results file of locality; the column `point` tells rows of one traced run.
inline constexpr const char* points = "points";  // a row is one traced kernel on one problem
inline constexpr const char* curves =
    "curves";  // a row is the LRU misses of an array at one cache size
inline constexpr const char* ideal = "ideal";  // a row is the misses of the ideal cache at one size
inline constexpr const char* caches =
    "caches";  // a row is one array in one cache of a given geometry
inline constexpr const char* marks = "marks";  // a row is one access of a space-time diagram
inline constexpr const char* stays = "stays";  // a row is the stay of a line in the cache
inline constexpr const char* density =
    "density";  // a row is one cell of a space-time diagram in bins
inline constexpr const char* arrays = "arrays";  // a row is one array of a space-time diagram
inline constexpr const char* gpu =
    "gpu";  // a row is the sectors of an array that a CUDA kernel asks for
inline constexpr const char* recursion_levels =
    "recursion_levels";                          // a row is one level of the recursion
inline constexpr const char* series = "series";  // a row is one quantity of a field after one step
inline constexpr const char* collected_from =
    "collected_from";                          // attribute of a run: file#run start_time
inline constexpr const char* units = "units";  // attribute of a column

}  // namespace tessera::io::schema
