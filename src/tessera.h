/* The C API in one include: products, transposes, sorts and stencils in the memory of the caller,
 * on one process or distributed over the ranks of an MPI communicator, and HDF5 datasets.
 *
 *   tessera_context context;
 *   if (tessera_context_create(comm, &context) != TESSERA_OK)
 *     fprintf(stderr, "%s\n", tessera_error_text());
 *
 * Every function that returns int returns a code of enum tessera_code: TESSERA_OK, or the reason,
 * which tessera_error_text() explains. Functions named "collective" are called by all ranks of a
 * communicator in the same order; if one of them fails, for whichever rank's arguments, all ranks
 * return the same code. Handles that were freed are recognised, but only on the rank that uses
 * them. All functions can be called from several threads, collective ones as the thread level of
 * MPI allows. None writes to stdout or stderr, ends the program, installs a signal handler or
 * changes the environment.
 *
 * Matrices: `order` is that of all matrices of a call, and a leading dimension counts elements
 * from one row (TESSERA_ROW_MAJOR) or column (TESSERA_COL_MAJOR) to the next. Memory of results
 * overlaps no other argument.
 *
 * Options: a text of "name=value" separated by blanks; NULL or "" for the defaults, which are the
 * fastest. All functions that compute know threads=N (0: those of the context; without one, the
 * number of OpenMP). gpu=N: all arrays of the call are in the memory of that GPU, where it computes
 * by the best kernel after all earlier work of the GPU; it returns when the result is complete. */
#ifndef TESSERA_H
#define TESSERA_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "base/version.hpp" /* TESSERA_VERSION, TESSERA_VERSION_MAJOR, _MINOR, _PATCH, _NUMBER */

#ifdef __cplusplus
extern "C" {
#endif

/* --- Errors, version, notes ---------------------------------------------------------------- */

/* The exit codes of the program tessera. */
enum tessera_code {
  TESSERA_OK = 0,
  TESSERA_USAGE = 64,         /* invalid argument, or a request that cannot be met here */
  TESSERA_BAD_DATA = 65,      /* invalid content of an input */
  TESSERA_MISSING_INPUT = 66, /* the input does not exist */
  TESSERA_INTERNAL = 70,
  TESSERA_MEMORY = 71,        /* insufficient memory */
  TESSERA_CANNOT_CREATE = 73, /* an output cannot be created, or lacks space */
  TESSERA_IO = 74,
  TESSERA_STALLED = 75,
  TESSERA_VERIFICATION = 76,
  TESSERA_STOPPED_EARLY = 85
};

/* Return the last error of this thread: its message, which begins with the argument if one is
 * wrong; that argument, or ""; the rank of the communicator on which it occurred, or -1 if that is
 * not a single other one. The texts are valid until the next error of the thread. */
const char* tessera_error_text(void);
const char* tessera_error_argument(void);
int tessera_error_rank(void);

/* Makes the last error of this thread, "ARGUMENT PROBLEM", and returns TESSERA_USAGE: for bindings
 * of other languages, which check arguments of their own. */
int tessera_refuse(const char* argument, const char* problem);

/* Returns the name of a code: "TESSERA_USAGE"; "" for other numbers. */
const char* tessera_code_name(int code);

/* Returns the version of the library: "0.1.0". */
const char* tessera_version(void);

/* Sets the function that receives notes of the library, one line a call, from any thread, with
 * `data`; NULL: notes are dropped, as by default. */
typedef void (*tessera_log)(const char* line, void* data);
int tessera_set_log(tessera_log log, void* data);

/* Returns to the system the freed memory that the library and malloc keep for the next calls:
 * blocks below 32 MiB, together at most what calls had in use at once. */
int tessera_release_memory(void);

/* --- Elements and orders ------------------------------------------------------------------- */

/* Complex numbers are pairs of a real and an imaginary part, as in C99, C++ and Fortran. */
enum tessera_type {
  TESSERA_F32 = 1,
  TESSERA_F64 = 2,
  TESSERA_I32 = 3,
  TESSERA_I64 = 4,
  TESSERA_U32 = 5,
  TESSERA_U64 = 6,
  TESSERA_C64 = 7,  /* two f32 */
  TESSERA_C128 = 8, /* two f64 */
  TESSERA_I8 = 9,
  TESSERA_I16 = 10,
  TESSERA_U8 = 11,
  TESSERA_U16 = 12,
  TESSERA_F16 = 13,  /* binary16 of IEEE 754, computed with in f32 */
  TESSERA_BF16 = 14, /* bfloat16, the same; not of keys and files */
  TESSERA_OPAQUE = 1024
};
/* The type of opaque elements of 1 to 64 bytes, for functions that only move elements. */
#define TESSERA_RECORD(bytes) (TESSERA_OPAQUE + (bytes))

/* The values of CBLAS. */
enum tessera_order { TESSERA_ROW_MAJOR = 101, TESSERA_COL_MAJOR = 102 };
enum tessera_op { TESSERA_NO_TRANS = 111, TESSERA_TRANS = 112, TESSERA_CONJ_TRANS = 113 };

enum tessera_direction { TESSERA_ASCENDING = 0, TESSERA_DESCENDING = 1 };

/* --- One process --------------------------------------------------------------------------- */

/* Computes c[0:m, 0:n] = alpha * op(a)[0:m, 0:k] * op(b)[0:k, 0:n] + beta * c[0:m, 0:n]. Types:
 * f32, f64, c64, c128, also of alpha (NULL: 1) and beta (NULL: 0); f16 and bf16, with alpha and
 * beta in f32: sums are in f32, and c is rounded once. With beta 0, c is not read. The bits of c do
 * not depend on the number of threads. Options: threads, kernel (`tessera list matmul`;
 * cache_oblivious for f16 and bf16), gpu (not f16, bf16). */
int tessera_matmul(int order, int type, int op_a, int op_b, int64_t m, int64_t n, int64_t k,
                   const void* alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                   const void* beta, void* c, int64_t ldc, const char* options);

/* Computes b[0:n, 0:m] = alpha * transpose(a[0:m, 0:n]) + beta * b[0:n, 0:m], conjugated for
 * TESSERA_CONJ_TRANS. Types: any with alpha 1 and beta 0, otherwise f32, f64, c64, c128.
 * Options: threads, kernel (of moves: `tessera list transpose`), gpu (moves only). */
int tessera_transpose(int order, int type, int op, int64_t m, int64_t n, double alpha,
                      const void* a, int64_t lda, double beta, void* b, int64_t ldb,
                      const char* options);

/* Copies b[i, j, ...] = a[i, j, ...] between arrays of `dims` (1 to 6) dimensions with any strides
 * of at least 1, in elements (NULL: contiguous, last dimension fastest): rows and columns that are
 * not contiguous, axes in another order. Elements of b are separate. Types: any.
 * Options: threads, gpu. */
int tessera_rearrange(int type, int dims, const int64_t* extents, const void* a,
                      const int64_t* a_strides, void* b, const int64_t* b_strides,
                      const char* options);

/* Sorts keys[0:n]. Types: f16, f32, f64, i8 to i64, u8 to u64. -0 is before 0, in descending order
 * after it; NaN are last in both. Keys of less than 32 bits are sorted in a copy in 32 bits.
 * Options: threads, kernel (`tessera list sort`), gpu (keys of 32 and 64 bits). */
int tessera_sort(int type, int direction, int64_t n, void* keys, const char* options);

/* Sets permutation[j] to the place, from 0, of the key that belongs at j; equal keys keep their
 * order. Types as tessera_sort; NaN are equal, and so are -0 and 0. Options: threads,
 * gpu (keys of 32 and 64 bits). */
int tessera_argsort(int type, int direction, int64_t n, const void* keys, uint64_t* permutation,
                    const char* options);

/* A stencil: the sum of the values around a point, with weights. */
typedef struct tessera_stencil_s {
  int dims;              /* 1 to 3 */
  const char* name;      /* `tessera list stencil`; NULL: of the weights */
  const int64_t* shape;  /* of the weights: dims extents, slowest first, centred at shape / 2 */
  const double* weights; /* their product many, last dimension fastest */
  const char* boundary;  /* clamp (NULL), mirror, reflect, periodic or constant */
  double boundary_value; /* of constant */
} tessera_stencil;

/* Replaces the field u by itself after `steps` steps: u[i] = sum of weight * u[i + offset]. extents
 * and strides (in elements; NULL: contiguous, last dimension fastest) have stencil->dims values,
 * slowest first. Types: f32, f64; f16 and bf16, computed in f32 and rounded once a step. Options:
 * threads. */
int tessera_advance(const tessera_stencil* stencil, int type, const int64_t* extents, void* u,
                    const int64_t* strides, int64_t steps, const char* options);

/* Set bytes to the working memory of the call with these arguments, an upper bound with
 * kernel=auto. */
int tessera_sort_workspace_bytes(int type, int64_t n, const char* options, int64_t* bytes);
int tessera_argsort_workspace_bytes(int type, int64_t n, const char* options, int64_t* bytes);
int tessera_advance_workspace_bytes(const tessera_stencil* stencil, int type,
                                    const int64_t* extents, const char* options, int64_t* bytes);

/* Lends memory, until it is taken back by NULL and 0 or replaced by other memory:
 * tessera_sort, tessera_argsort and tessera_advance on this thread take their working memory from
 * there, and allocate nothing if it suffices; otherwise they allocate what is missing. Local. */
int tessera_use_workspace(void* memory, int64_t bytes);

/* --- Communicators ------------------------------------------------------------------------- */

/* Handles are passed by value; 0 is none. */
typedef struct tessera_context_s* tessera_context;
typedef struct tessera_layout_s* tessera_layout;

/* Makes a context of the ranks of `comm`, an intracommunicator. It communicates in a duplicate of
 * `comm`, which is made for the first context of `comm` and freed with `comm`. Ranks with
 * MPI_COMM_NULL get TESSERA_USAGE. Collective over comm. */
int tessera_context_create(MPI_Comm comm, tessera_context* context);
/* As above, for a communicator's handle in Fortran. */
int tessera_context_create_f(MPI_Fint comm, tessera_context* context);
/* Frees the context and sets it to 0; freeing 0 does nothing. Local. */
int tessera_context_free(tessera_context* context);
/* Return this rank, the number of ranks, and the threads of this rank: OMP_NUM_THREADS if it is
 * set, otherwise the cores that this rank has for itself. Local. */
int tessera_context_rank(tessera_context context, int* rank);
int tessera_context_size(tessera_context context, int* size);
int tessera_context_threads(tessera_context context, int* threads);

/* Sets [begin, end) to part `part` of `total` things in `parts` even shares. Local. */
int tessera_share(int64_t total, int parts, int part, int64_t* begin, int64_t* end);

/* --- Matrices on the ranks ----------------------------------------------------------------- */

/* A layout is a rows x cols matrix cut into one box per rank, perhaps empty, which is in the memory
 * of that rank, or dealt out in blocks. A box is {first row, end of rows, first column, end of
 * columns}. Bindings pass the leading dimension -1 for an array whose shape is not that of the
 * rank's part: all ranks refuse it. */

/* Makes the layout of even blocks on a grid of grid_rows x grid_cols ranks, all of the context,
 * row by row; 0 x 0: the grid whose blocks are nearest to squares. Local. */
int tessera_layout_grid(tessera_context context, int64_t rows, int64_t cols, int grid_rows,
                        int grid_cols, tessera_layout* layout);
/* Makes the layout in which this rank has the box. Collective. */
int tessera_layout_box(tessera_context context, int64_t rows, int64_t cols, const int64_t box[4],
                       tessera_layout* layout);
/* Makes the block-cyclic layout of a descriptor of ScaLAPACK: blocks of row_block x col_block are
 * dealt out in turn to the first ranks as a grid of grid_rows x grid_cols, row by row, from row
 * row_source and column col_source of the grid on. A rank has its blocks in one array. Calls with
 * such a layout know the options threads and, for products, kernel only, and move elements of 1, 2,
 * 4, 8 or 16 bytes. Local. */
int tessera_layout_cyclic(tessera_context context, int64_t rows, int64_t cols, int64_t row_block,
                          int64_t col_block, int grid_rows, int grid_cols, int row_source,
                          int col_source, tessera_layout* layout);
/* Sets rows and cols to the extents of the array of a rank. Local. */
int tessera_layout_local(tessera_layout layout, int rank, int64_t* rows, int64_t* cols);
/* Sets box to that of a rank; a block-cyclic layout has none. Local. */
int tessera_layout_box_of(tessera_layout layout, int rank, int64_t box[4]);
/* Frees the layout and sets it to 0; freeing 0 does nothing. Local. */
int tessera_layout_free(tessera_layout* layout);

/* As tessera_matmul, of distributed matrices: a, b and c are this rank's boxes of their layouts.
 * Collective. Options: threads, kernel, algorithm (`tessera list matmul`), slices, rounds, panel.
 */
int tessera_dist_matmul(tessera_context context, int order, int type, int op_a, int op_b,
                        const void* alpha, tessera_layout layout_a, const void* a, int64_t lda,
                        tessera_layout layout_b, const void* b, int64_t ldb, const void* beta,
                        tessera_layout layout_c, void* c, int64_t ldc, const char* options);

/* Products of matrices in the same layouts, for repeated calls. */
typedef struct tessera_matmul_plan_s* tessera_matmul_plan;

/* Makes a plan: searches once how the ranks divide the work, and allocates its memory. Arguments as
 * tessera_dist_matmul. The plan is valid without the context and the layouts. Collective. Options:
 * threads, kernel. */
int tessera_matmul_plan_create(tessera_context context, int order, int type, int op_a, int op_b,
                               tessera_layout layout_a, tessera_layout layout_b,
                               tessera_layout layout_c, const char* options,
                               tessera_matmul_plan* plan);
/* Sets bytes to the memory that such a plan would hold on this rank. Collective. */
int tessera_matmul_plan_workspace_bytes(tessera_context context, int order, int type, int op_a,
                                        int op_b, tessera_layout layout_a, tessera_layout layout_b,
                                        tessera_layout layout_c, const char* options,
                                        int64_t* bytes);
/* Sets bytes to the memory of the plan on this rank. Local. */
int tessera_matmul_plan_bytes(tessera_matmul_plan plan, int64_t* bytes);
/* As tessera_dist_matmul, with the same bits. Calls allocate nothing after the second one of a
 * plan. Collective. */
int tessera_matmul_plan_execute(tessera_matmul_plan plan, const void* alpha, const void* a,
                                int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                int64_t ldc);
/* Frees the plan and sets it to 0; freeing 0 does nothing. Local. */
int tessera_matmul_plan_free(tessera_matmul_plan* plan);

/* As tessera_transpose, of distributed matrices. TESSERA_NO_TRANS: b = alpha * a + beta * b, in
 * another layout. Collective. Options: threads, kernel, algorithm. */
int tessera_dist_transpose(tessera_context context, int order, int type, int op, double alpha,
                           tessera_layout layout_a, const void* a, int64_t lda, double beta,
                           tessera_layout layout_b, void* b, int64_t ldb, const char* options);

/* Copies a matrix to another layout. Types: any. Collective. */
int tessera_redistribute(tessera_context context, int order, int type, tessera_layout layout_a,
                         const void* a, int64_t lda, tessera_layout layout_b, void* b, int64_t ldb);

/* --- Keys and rows on the ranks ------------------------------------------------------------ */

/* Sets `total` to the sum of n over the ranks, and `before` to that over the ranks before this one.
 * Collective. */
int tessera_dist_total(tessera_context context, int64_t n, int64_t* total, int64_t* before);

/* Sorts the keys of all ranks together: keys[0:n], any number on each rank, become this rank's even
 * share of the sorted sequence (tessera_share), and `sorted` their number. keys has room for
 * `capacity` keys, at least as many as before and after. Types and order as tessera_sort.
 * Collective. Options: threads, kernel, algorithm (`tessera list sort`). */
int tessera_dist_sort(tessera_context context, int type, int direction, int64_t n, void* keys,
                      int64_t capacity, int64_t* sorted, const char* options);

/* Computes the order of the rows of all ranks by `columns` columns, the first the most significant:
 * permutation[j], one of this rank's even share of the total, is the number, counted from rank to
 * rank from 0, of the row that belongs there; `count` is their number, at most `capacity`. Equal
 * rows keep their order. types, directions and keys have one value per column, keys[i] pointing
 * to this rank's n keys. Collective. Options: threads, kernel, algorithm. */
int tessera_dist_argsort(tessera_context context, int columns, const int* types,
                         const int* directions, int64_t n, const void* const* keys,
                         int64_t capacity, uint64_t* permutation, int64_t* count,
                         const char* options);

/* Sets to[j] to row permutation[j], for count rows on each rank, from the n rows of `bytes` bytes
 * on each rank, counted from rank to rank: the payload of sorted keys. Collective.
 * Options: threads. */
int tessera_dist_permute(tessera_context context, int64_t bytes, int64_t n, const void* from,
                         int64_t count, const uint64_t* permutation, void* to, const char* options);

/* Keys that are sorted over all ranks, any number of them on each, as tessera_dist_sort leaves
 * them. The following compare them as numbers: -0 equals 0, all NaN are equal and last. Positions
 * count the keys from rank to rank from 0. All ranks refuse `sorted` if keys are out of order;
 * tessera_dist_searchsorted looks at the first and last key of each rank only. */

enum tessera_side { TESSERA_LEFT = 0, TESSERA_RIGHT = 1 };

/* Sets positions[i], for each of this rank's count values, to the position before the keys that
 * equal it (TESSERA_LEFT), or behind them. Collective. */
int tessera_dist_searchsorted(tessera_context context, int type, int direction, int side, int64_t n,
                              const void* sorted, int64_t count, const void* values,
                              int64_t* positions);
/* Sets begins[0:groups] to the positions at which groups of equal keys begin on this rank, and
 * `end` to the end of its last group, which may be on a later rank. begins has room for n.
 * Collective. Options: threads. */
int tessera_dist_groups(tessera_context context, int type, int direction, int64_t n,
                        const void* sorted, int64_t* begins, int64_t* groups, int64_t* end,
                        const char* options);
/* Sets distinct[0:groups] to the keys of those groups, and counts (NULL: not wanted) to the keys in
 * each. distinct and counts have room for n. Collective. Options: threads. */
int tessera_dist_unique(tessera_context context, int type, int direction, int64_t n,
                        const void* sorted, void* distinct, int64_t* counts, int64_t* groups,
                        const char* options);

/* --- Fields on the ranks ------------------------------------------------------------------- */

typedef struct tessera_field_s* tessera_field;

/* Makes a field of zeros, cut into one box per rank, which `stencil` advances; a rank may have an
 * empty box. extents: slowest first. Types: as tessera_advance. Collective. Options: threads,
 * kernel, steps=N (of a call of tessera_field_advance for which the cut is the fastest; 100),
 * halo_steps=N (between two exchanges; 0: the fastest), overlap=yes (computes while messages are in
 * flight). */
int tessera_field_create(tessera_context context, const tessera_stencil* stencil, int type,
                         const int64_t* extents, const char* options, tessera_field* field);
/* Sets low and high to this rank's box [low, high), in indices of the whole field. Local. */
int tessera_field_box(tessera_field field, int64_t* low, int64_t* high);
/* Sets data to the first point of this rank's box, in the field's memory, and strides to those of
 * its dimensions, in elements. The caller reads and writes the box there between two calls of
 * tessera_field_advance, after which data is another. Local. */
int tessera_field_data(tessera_field field, void** data, int64_t* strides);
/* Advances the field by `steps` steps. Collective. */
int tessera_field_advance(tessera_field field, int64_t steps);
/* Frees the field and sets it to 0; freeing 0 does nothing. Local. */
int tessera_field_free(tessera_field* field);

/* --- HDF5 datasets ------------------------------------------------------------------------- */

/* Sets dims to the number of dimensions of a dataset, at most 32, and extents to their lengths. In
 * files of other origin as in Tessera's. Local. */
int tessera_dataset_extents(const char* file, const char* dataset, int* dims, int64_t extents[32]);

/* Reads the box [low, high) of a dataset into contiguous memory, last dimension fastest, converted
 * to the type, one of numbers. Any number of ranks may read at once, but none of a file that is
 * being written. Local. */
int tessera_read(const char* file, const char* dataset, int type, int dims, const int64_t* low,
                 const int64_t* high, void* data);

/* Writes a dataset of which each rank has one box [low, high) in contiguous memory, and which the
 * boxes cover without overlap. The file appears when it is complete. In an existing file of other
 * origin the dataset is added. Types as tessera_read. Collective. Options: existing=replace (an
 * output of Tessera; otherwise TESSERA_CANNOT_CREATE). */
int tessera_write(tessera_context context, const char* file, const char* dataset, int type,
                  int dims, const int64_t* extents, const int64_t* low, const int64_t* high,
                  const void* data, const char* options);

#ifdef __cplusplus
}
#endif

#endif
