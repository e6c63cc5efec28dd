/* Distributed matrices, block-cyclic or in even blocks of rows, between sentinels. All have the
 * values that value_at gives to their global places. */
#ifndef DISTRIBUTED_H
#define DISTRIBUTED_H

#include "ranks.h"

static tessera_context context;
static int rank, ranks;

/* A layout, block-cyclic or of even blocks of rows, and this rank's array. */
typedef struct {
  tessera_layout layout;
  int64_t rows, cols, row_block, col_block;
  int grid_rows, grid_cols, row_source, col_source, is_cyclic;
  matrix local;
} distributed;

/* Returns the local index of a global one, or -1 if this rank's place of the grid has it not. */
static int64_t local_of(int64_t i, int64_t block, int parts, int source, int place) {
  const int64_t number = i / block;
  if ((number + source) % parts != place) return -1;
  return number / parts * block + i % block;
}

static unsigned char* element(const distributed* d, int64_t i, int64_t j) {
  if (!d->is_cyclic) {
    int64_t box[4];
    CHECK(tessera_layout_box_of(d->layout, rank, box) == TESSERA_OK);
    return i >= box[0] && i < box[1] ? at(&d->local, i - box[0], j) : NULL;
  }
  if (rank >= d->grid_rows * d->grid_cols) return NULL;
  const int64_t row = local_of(i, d->row_block, d->grid_rows, d->row_source, rank / d->grid_cols);
  const int64_t col = local_of(j, d->col_block, d->grid_cols, d->col_source, rank % d->grid_cols);
  return row < 0 || col < 0 ? NULL : at(&d->local, row, col);
}

/* Writes the elements of this rank; returns how many. */
static int64_t refill(distributed* d, int64_t seed) {
  int64_t filled = 0;
  for (int64_t i = 0; i < d->rows; ++i) {
    for (int64_t j = 0; j < d->cols; ++j) {
      unsigned char* const to = element(d, i, j);
      if (to == NULL) continue;
      put(d->local.type, to, value_at(d->local.type, i, j, seed));
      ++filled;
    }
  }
  return filled;
}

static distributed new_distributed(int type, int order, int64_t rows, int64_t cols, int64_t seed) {
  distributed d = {0};
  d.rows = rows, d.cols = cols, d.is_cyclic = below(4) > 0;
  d.grid_rows = 1 + (int)below(ranks), d.grid_cols = 1 + (int)below(ranks / d.grid_rows);
  d.row_block = 1 + below(7), d.col_block = 1 + below(7);
  d.row_source = (int)below(d.grid_rows), d.col_source = (int)below(d.grid_cols);
  if (d.is_cyclic)
    CHECK(tessera_layout_cyclic(context, rows, cols, d.row_block, d.col_block, d.grid_rows,
                                d.grid_cols, d.row_source, d.col_source, &d.layout) == TESSERA_OK);
  else
    CHECK(tessera_layout_grid(context, rows, cols, ranks, 1, &d.layout) == TESSERA_OK);
  int64_t here[2] = {-1, -1};
  CHECK(tessera_layout_local(d.layout, rank, &here[0], &here[1]) == TESSERA_OK);
  d.local = new_matrix(type, order, here[0], here[1], below(3));
  const int64_t filled = refill(&d, seed);
  CHECK(filled == here[0] * here[1]); /* the array has this rank's elements and no other */
  return d;
}

static void free_distributed(distributed* d) {
  CHECK(is_intact_around(&d->local));
  CHECK(tessera_layout_free(&d->layout) == TESSERA_OK);
  free_matrix(&d->local);
}

#endif
