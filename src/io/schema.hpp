#pragma once
// All names in Tessera's files, and the versions of the formats.

namespace tessera::inline v1::io::schema {

inline constexpr int version = 1;  // of a results file
inline constexpr int output_version =
    2;  // of an output file; before 2, single bytes were summed like other elements

// Output files.
inline constexpr const char* group =
    "_tessera";  // attributes of the group: state, provenance, verdict
inline constexpr const char* state = "state";
inline constexpr const char* state_incomplete = "incomplete";
inline constexpr const char* state_complete = "complete";
inline constexpr const char* schema_version = "tessera_schema";
inline constexpr const char* datasets =
    "datasets";  // paths of the datasets that a run wrote there, one per line
inline constexpr const char* company =
    "company";  // paths of coordinates and others that were copied from inputs, one per line
// Foreign files to which datasets were added: the group has this attribute and, per run, a group
// with the attributes that an output file has in the group itself.
inline constexpr const char* guest = "added_to_a_file_of_others";
inline constexpr const char* added = "added";  // with a number: added_0001
// Stopped outputs: the problem, the state to resume from, and the number of written elements of
// each dataset.
inline constexpr const char* stopped_problem = "stopped_problem";
inline constexpr const char* stopped_state = "stopped_state";
inline constexpr const char* stopped_written = "stopped_written";
inline constexpr const char* stopped_over =
    "stopped_over";  // state of the foreign file that it is a copy of
inline constexpr const char* checksum =
    "tessera_checksum";  // attribute of every dataset written by Tessera

// Results files: one group per run, in it tables as groups of columns of equal length.
inline constexpr const char* samples = "samples";  // a row is one repetition
inline constexpr const char* phases = "phases";  // a row is one phase of one repetition on one rank
inline constexpr const char* files =
    "files";  // a row is the file traffic of one rank in one repetition, concurrent with its phases
inline constexpr const char* wall = "wall";  // a row is one phase of a process, from its start to
                                             // the end of the run: they add up to its wall time
inline constexpr const char* timeline =
    "timeline";  // with --timeline, a row is one interval of a rank in a phase
inline constexpr const char* device_timeline =
    "device_timeline";  // a row is one interval of a transfer or kernel on a GPU, in the last
                        // repetition
inline constexpr const char* ranks = "ranks";      // a row is one rank
inline constexpr const char* summary = "summary";  // a row is one configuration
inline constexpr const char* machine = "machine";  // a row is one measured ceiling
inline constexpr const char* scalability =
    "scalability";  // a row is one kernel as forked for a number of processors: work, span, bounds,
                    // speed-up
inline constexpr const char* counters =
    "counters";  // a row is one repetition (hardware counts), or -1 (the counts of a simulator)
inline constexpr const char* energy =
    "energy";  // a row is the energy of one domain in one repetition, or their mean (-1)
inline constexpr const char* simulated =
    "simulated";  // a row is one configuration: simulated misses
// Results files of locality; the column `point` identifies the rows of one traced run.
inline constexpr const char* points = "points";  // a row is one traced kernel on one problem
inline constexpr const char* curves =
    "curves";  // a row is the LRU misses of an array at one cache size
inline constexpr const char* ideal = "ideal";  // a row is the misses of the ideal cache at one size
inline constexpr const char* caches =
    "caches";  // a row is one array in one cache of a given geometry
inline constexpr const char* marks = "marks";  // a row is one access of a space-time diagram
inline constexpr const char* stays = "stays";  // a row is one residence of a line in the cache
inline constexpr const char* density =
    "density";                                   // a row is one cell of a binned space-time diagram
inline constexpr const char* arrays = "arrays";  // a row is one array of a space-time diagram
inline constexpr const char* gpu =
    "gpu";  // a row is the sectors of an array that a CUDA kernel requests
inline constexpr const char* paper = "paper";  // a row is one kernel on a GPU on paper
inline constexpr const char* paper_arrays =
    "paper_arrays";  // a row is the requests of one kind to an array there
inline constexpr const char* occupancy =
    "occupancy";  // of list: a row is one block shape on a multiprocessor, a point of a curve
// Results files of forkjoin; `point` as above.
inline constexpr const char* forkjoin =
    "forkjoin";  // a row is one computation: work and span in operations
inline constexpr const char* schedules =
    "schedules";  // a row is one number of simulated workers: time, steals, misses
inline constexpr const char* states =
    "states";  // a row is one change of a line's state there, by its cause
inline constexpr const char* strands = "strands";  // a row is one strand of a drawn computation
inline constexpr const char* executions =
    "executions";  // a row is one strand in one schedule: worker and time
// Results files of machine --atlas.
inline constexpr const char* atlas_chases =
    "atlas_chases";  // a row is one pointer chase: its latency
inline constexpr const char* atlas_levels =
    "atlas_levels";  // a row is one level of memory: its nominal and measured size, its latency
inline constexpr const char* atlas_reaches =
    "atlas_reaches";  // a row is the pages beyond which a load costs more: the reach of a TLB
inline constexpr const char* atlas_rates =
    "atlas_rates";  // a row is the bandwidth of one working set
inline constexpr const char* atlas_pairs =
    "atlas_pairs";  // a row is the way of a line between two processing units
inline constexpr const char* atlas_operations =
    "atlas_operations";  // a row is the cost of one operation by a team of threads
inline constexpr const char* atlas_roots =
    "atlas_roots";  // a row is one way to compute inverse square roots, and its largest error
inline constexpr const char* atlas_remotes =
    "atlas_remotes";  // a row is the latency from a NUMA node to the memory of one
inline constexpr const char* atlas_messages =
    "atlas_messages";  // a row is one size of message between two ranks
inline constexpr const char* atlas_gpu_chases =
    "atlas_gpu_chases";  // a row is one pointer chase in a memory of a GPU
inline constexpr const char* atlas_gpu_rates =
    "atlas_gpu_rates";  // a row is one kind of transfer of a GPU
inline constexpr const char* atlas_gpu_pages =
    "atlas_gpu_pages";  // a row is a number of pages of a GPU, a load each, and of lines
inline constexpr const char* atlas_gpu_waits =
    "atlas_gpu_waits";  // a row is the cost of a barrier or launch on a GPU
// Results files of analyse.
inline constexpr const char* hotspots =
    "hotspots";                              // a row is one function in one phase: its samples
inline constexpr const char* busy = "busy";  // a row is the samples by busy threads
inline constexpr const char* gpu_calls =
    "gpu_calls";  // a row is one kernel or copy on a GPU, or one function of CUDA: its times
inline constexpr const char* laws = "laws";  // a row is the speed-ups on one number of processors
inline constexpr const char* recursion_levels =
    "recursion_levels";                          // a row is one level of the recursion
inline constexpr const char* series = "series";  // a row is one quantity of a field after one step
inline constexpr const char* collected_from =
    "collected_from";                          // attribute of a run: file#run start_time
inline constexpr const char* units = "units";  // attribute of a column

}  // namespace tessera::inline v1::io::schema
