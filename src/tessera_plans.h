/* Exchanges of the C API that are planned once and executed many times, in the memory of the
 * caller: relayouts of matrices, permutations of the axes of arrays, and halos.
 *
 *   check(tessera_permute_plan_create(context, TESSERA_C128, 3, extents, axes, grid_a, grid_b,
 *                                     NULL, &plan));
 *   for (...) {
 *     check(tessera_permute_plan_start(plan, a, b));
 *     work();
 *     check(tessera_permute_plan_wait(plan));
 *   }
 *
 * A plan holds its messages; executions allocate nothing after the first one. From start to wait
 * the memory that is written belongs to the plan, and other plans can be executed; memory that is
 * only read can be written after start. A plan is valid without the context and the layouts of
 * which it was made, and is not freed between start and wait. The rules of tessera.h apply.
 *
 * With the option gpu=N all arrays of a plan are in the memory of that GPU, which packs and unpacks
 * them after all its earlier work. Relayouts and permutations then travel from GPU to GPU where the
 * machine permits; their plans are for GPUs on all ranks or on none, and freed by all of them. */
#ifndef TESSERA_PLANS_H
#define TESSERA_PLANS_H

#include "tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Relayouts ----------------------------------------------------------------------------- */

typedef struct tessera_relayout_plan_s* tessera_relayout_plan;

/* Makes a plan for `matrices` matrices at once, which travel in one message a pair of ranks:
 * b[k] = alpha[k] * op[k](a[k]) + beta[k] * b[k], from layout_a[k] to layout_b[k]. All a are in
 * order_a, all b in order_b. Types: f32, f64, c64, c128; moves, by which alpha is 1 and beta is 0:
 * any of 1, 2, 4, 8 or 16 bytes. Collective. Options, whose numbers may differ between ranks:
 * threads, gpu. */
int tessera_relayout_plan_create(tessera_context context, int order_a, int order_b, int type,
                                 int matrices, const int* op, const tessera_layout* layout_a,
                                 const tessera_layout* layout_b, const char* options,
                                 tessera_relayout_plan* plan);
/* Sets bytes to the memory of the plan on this rank: of its messages, sent and received. Local. */
int tessera_relayout_plan_bytes(tessera_relayout_plan plan, int64_t* bytes);
/* Starts an execution: a[k] and b[k] are this rank's parts of matrix k, lda[k] and ldb[k] their
 * leading dimensions, alpha[k] and beta[k] numbers of the type (NULL: 1 and 0). Collective. */
int tessera_relayout_plan_start(tessera_relayout_plan plan, const void* alpha, const void* const* a,
                                const int64_t* lda, const void* beta, void* const* b,
                                const int64_t* ldb);
/* Waits for the messages and completes all b. Collective. */
int tessera_relayout_plan_wait(tessera_relayout_plan plan);
/* Frees the plan and sets it to 0; freeing 0 does nothing. Local; collective of arrays on GPUs. */
int tessera_relayout_plan_free(tessera_relayout_plan* plan);

/* --- Permutations of axes ------------------------------------------------------------------ */

typedef struct tessera_permute_plan_s* tessera_permute_plan;

/* Makes a plan for b[i[axes[0]], i[axes[1]], ...] = a[i[0], i[1], ...], the transposes of slabs and
 * pencils of a Fourier transform: axis k of b is axis axes[k] (from 0) of a, which has `dims` (1 to
 * 6) axes of these extents. grid_a and grid_b have the number of even shares (tessera_share) of
 * each axis of a, and of b; the shares belong to the first ranks, those along the last axis to
 * consecutive ones. Types: any. Collective. Options, whose numbers may differ between ranks:
 * threads, gpu. */
int tessera_permute_plan_create(tessera_context context, int type, int dims, const int64_t* extents,
                                const int* axes, const int* grid_a, const int* grid_b,
                                const char* options, tessera_permute_plan* plan);
/* Sets [low_a, high_a) to this rank's indices of a, axis by axis, and [low_b, high_b) to those of
 * b. They are in contiguous memory, last axis fastest. Local. */
int tessera_permute_plan_boxes(tessera_permute_plan plan, int64_t* low_a, int64_t* high_a,
                               int64_t* low_b, int64_t* high_b);
int tessera_permute_plan_bytes(tessera_permute_plan plan, int64_t* bytes);
int tessera_permute_plan_start(tessera_permute_plan plan, const void* a, void* b);
int tessera_permute_plan_wait(tessera_permute_plan plan);
int tessera_permute_plan_free(tessera_permute_plan* plan);

/* --- Halos --------------------------------------------------------------------------------- */

typedef struct tessera_halo_plan_s* tessera_halo_plan;

/* Makes a plan that fills the ghost layers of `fields` fields at once, edges and corners included:
 * widths[d] layers on both sides of this rank's box in dimension d. extents: of the whole field, in
 * `dims` (1 to 3) dimensions, slowest first. grid: the even shares of each dimension, on the first
 * ranks, last dimension fastest; NULL: those that send the least. Beyond the whole field: boundary
 * as of a stencil, or given, which leaves what is there. Types: all of numbers. Collective.
 * Options, which may differ between ranks: threads, gpu (messages pass through the host). */
int tessera_halo_plan_create(tessera_context context, int type, int dims, const int64_t* extents,
                             const int64_t* widths, const int* grid, const char* boundary,
                             double boundary_value, int fields, const char* options,
                             tessera_halo_plan* plan);
/* Sets low and high to this rank's box [low, high), in indices of the whole field. Local. */
int tessera_halo_plan_box(tessera_halo_plan plan, int64_t* low, int64_t* high);
int tessera_halo_plan_bytes(tessera_halo_plan plan, int64_t* bytes);
/* Starts an execution: field[f] is the first point of this rank's box of field f, without ghost
 * layers, and strides has the `dims` strides of each field, in elements (NULL: box and ghost layers
 * are contiguous, last dimension fastest). Afterwards the boxes can be written; the ghost layers
 * belong to the plan. Collective. */
int tessera_halo_plan_start(tessera_halo_plan plan, void* const* field, const int64_t* strides);
/* Waits for the messages and fills the layers: the neighbours' points as they were at start, and
 * beyond the whole field values by its boundary from the points as they are now. Collective. */
int tessera_halo_plan_wait(tessera_halo_plan plan);
int tessera_halo_plan_free(tessera_halo_plan* plan);

#ifdef __cplusplus
}
#endif

#endif
