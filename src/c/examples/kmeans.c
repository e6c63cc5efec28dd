/* k-means by products: kmeans POINTS.h5 /DATASET K STEPS OUT.h5
 *
 * Reads the points, one a row, in even shares of rows. With the centroids C on rank 0, each step
 * computes the scores X C^T of all points, assigns each point to the centroid with the largest
 * x c - |c|^2 / 2, and sums the points of each centroid as the product A^T X of the assignments.
 * Writes /centroids, the last ones. The first K points are the first centroids. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>

enum {
  row = TESSERA_ROW_MAJOR,
  f64 = TESSERA_F64,
  plain = TESSERA_NO_TRANS,
  turned = TESSERA_TRANS
};

static void check(int code) {
  if (code == TESSERA_OK) return;
  fprintf(stderr, "kmeans: %s\n", tessera_error_text());
  MPI_Abort(MPI_COMM_WORLD, code);
}

static double* numbers(int64_t n) {
  double* const data = calloc((size_t)n + 1, sizeof(double));
  if (data == NULL) MPI_Abort(MPI_COMM_WORLD, TESSERA_MEMORY);
  return data;
}

/* Returns the layout in which rank 0 has the whole matrix. */
static tessera_layout on_root(tessera_context context, int rank, int64_t rows, int64_t cols) {
  const int64_t box[4] = {0, rank == 0 ? rows : 0, 0, rank == 0 ? cols : 0};
  tessera_layout layout;
  check(tessera_layout_box(context, rows, cols, box, &layout));
  return layout;
}

static tessera_layout by_rows(tessera_context context, int ranks, int64_t rows, int64_t cols) {
  tessera_layout layout;
  check(tessera_layout_grid(context, rows, cols, ranks, 1, &layout));
  return layout;
}

/* Assigns the n points to the nearest of k centroids c of d numbers: a[i, label] = 1. */
static void assign(int64_t n, int64_t k, int64_t d, const double* scores, const double* c,
                   double* a, int32_t* labels) {
  for (int64_t i = 0; i < n; ++i) {
    double best = 0;
    labels[i] = -1;
    for (int64_t j = 0; j < k; ++j) {
      double half = 0;
      for (int64_t p = 0; p < d; ++p) half += c[j * d + p] * c[j * d + p] / 2;
      const double score = scores[i * k + j] - half;
      if (labels[i] < 0 || score > best) best = score, labels[i] = (int32_t)j;
    }
    for (int64_t j = 0; j < k; ++j) a[i * k + j] = labels[i] == j;
  }
}

int main(int argc, char** argv) {
  int rank, ranks, dims;
  int64_t extents[32];
  tessera_context context;
  MPI_Init(&argc, &argv);
  if (argc != 6) {
    fprintf(stderr, "usage: kmeans POINTS.h5 /DATASET K STEPS OUT.h5\n");
    MPI_Abort(MPI_COMM_WORLD, TESSERA_USAGE);
  }
  check(tessera_context_create(MPI_COMM_WORLD, &context));
  check(tessera_context_rank(context, &rank));
  check(tessera_context_size(context, &ranks));
  check(tessera_dataset_extents(argv[1], argv[2], &dims, extents));
  const int64_t n = extents[0], d = extents[1], k = atol(argv[3]);
  int64_t low[2] = {0, 0}, high[2] = {k, d}, first, end;
  check(tessera_share(n, ranks, rank, &first, &end));
  const int64_t mine = end - first;
  double *const x = numbers(mine * d), *const a = numbers(mine * k), *const s = numbers(mine * k);
  double *const c = numbers(k * d), *const counts = numbers(2 * k);
  int32_t* const labels = malloc(sizeof(int32_t) * (size_t)(mine + 1));
  check(tessera_read(argv[1], argv[2], f64, 2, low, high, c));
  low[0] = first, high[0] = end;
  check(tessera_read(argv[1], argv[2], f64, 2, low, high, x));

  const tessera_layout points = by_rows(context, ranks, n, d),
                       scores = by_rows(context, ranks, n, k);
  const tessera_layout centroids = on_root(context, rank, k, d);
  tessera_matmul_plan plan;
  check(tessera_matmul_plan_create(context, row, f64, plain, turned, points, centroids, scores,
                                   NULL, &plan));
  for (long step = 0; step < atol(argv[4]); ++step) {
    check(tessera_matmul_plan_execute(plan, NULL, x, d, c, d, NULL, s, k));
    assign(mine, k, d, s, c, a, labels);
    for (int64_t j = 0; j < k; ++j) counts[j] = 0;
    for (int64_t i = 0; i < mine; ++i) counts[labels[i]] += 1;
    MPI_Allreduce(counts, counts + k, (int)k, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    check(tessera_dist_matmul(context, row, f64, turned, plain, NULL, scores, a, k, points, x, d,
                              NULL, centroids, c, d, NULL));
    for (int64_t i = 0; rank == 0 && i < k * d; ++i) c[i] /= counts[k + i / d];
    MPI_Bcast(c, (int)(k * d), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }

  const int64_t whole[2] = {k, d}, none[2] = {0, 0};
  check(tessera_write(context, argv[5], "/centroids", f64, 2, whole, none, rank == 0 ? whole : none,
                      c, NULL));
  printf("rank %d: %ld of %ld points\n", rank, (long)mine, (long)n);
  free(x), free(a), free(s), free(c), free(counts), free(labels);
  check(tessera_matmul_plan_free(&plan));
  tessera_layout used[] = {points, scores, centroids};
  for (int i = 0; i < 3; ++i) check(tessera_layout_free(&used[i]));
  check(tessera_context_free(&context));
  MPI_Finalize();
  return 0;
}
