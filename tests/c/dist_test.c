/* Products, transposes, redistributions and sorts on the ranks of a communicator, at random shapes
 * and layouts. All matrices have the values that value_at gives to their global places. */
#include "ranks.h"

static tessera_context context;
static int rank, ranks;

static const int numbers[] = {TESSERA_F32,  TESSERA_F64, TESSERA_C64,
                              TESSERA_C128, TESSERA_F16, TESSERA_BF16}; /* halves: products */

typedef struct {
  tessera_layout layout;
  int64_t box[4];
  matrix local;
} distributed;

/* Random layouts: a grid, rows, or strips of columns of random widths, in any order of ranks. */
static tessera_layout random_layout(int64_t rows, int64_t cols) {
  tessera_layout layout = 0;
  const int64_t kind = below(3), shift = below(ranks);
  if (kind == 0) {
    CHECK(tessera_layout_grid(context, rows, cols, 0, 0, &layout) == TESSERA_OK);
  } else if (kind == 1) {
    CHECK(tessera_layout_grid(context, rows, cols, ranks, 1, &layout) == TESSERA_OK);
  } else {
    int64_t begin = 0, box[4] = {0, rows, 0, 0};
    for (int r = 0; r < ranks; ++r) {
      const int64_t end = r + 1 == ranks ? cols : begin + below(cols - begin + 1);
      if ((r + shift) % ranks == rank) box[2] = begin, box[3] = end;
      begin = end;
    }
    CHECK(tessera_layout_box(context, rows, cols, box, &layout) == TESSERA_OK);
  }
  return layout;
}

static distributed new_distributed(int type, int order, int64_t rows, int64_t cols, int64_t seed) {
  distributed d;
  d.layout = random_layout(rows, cols);
  CHECK(tessera_layout_box_of(d.layout, rank, d.box) == TESSERA_OK);
  const int64_t gap = below(3) == 0 ? 2 + rank : 0;
  d.local = new_matrix(type, order, d.box[1] - d.box[0], d.box[3] - d.box[2], gap);
  fill_matrix(&d.local, d.box[0], d.box[2], seed);
  return d;
}

static void free_distributed(distributed* d) {
  CHECK(tessera_layout_free(&d->layout) == TESSERA_OK && d->layout == 0);
  free_matrix(&d->local);
}

static void test_matmul(int type) {
  static const char* options[] = {NULL, "threads=2", "algorithm=summa", "slices=2",
                                  "kernel=naive rounds=2"};
  const int order = below(2) ? TESSERA_ROW_MAJOR : TESSERA_COL_MAJOR;
  const int op_a = TESSERA_NO_TRANS + (int)below(3), op_b = TESSERA_NO_TRANS + (int)below(3);
  const int64_t m = below(40), n = below(40), k = below(40);
  const int a_turns = op_a != TESSERA_NO_TRANS, b_turns = op_b != TESSERA_NO_TRANS;
  distributed a = new_distributed(type, order, a_turns ? k : m, a_turns ? m : k, 1);
  distributed b = new_distributed(type, order, b_turns ? n : k, b_turns ? k : n, 2);
  distributed c = new_distributed(type, order, m, n, 3);
  const int adds = (int)below(2), scaled = (int)below(2);
  const double complex two = type == TESSERA_C64 || type == TESSERA_C128 ? 2 - I : 2;
  unsigned char alpha[16], beta[16];
  put_factor(type, alpha, two);
  put_factor(type, beta, -1);
  CHECK(tessera_dist_matmul(context, order, type, op_a, op_b, scaled ? alpha : NULL, a.layout,
                            a.local.data, a.local.ld, b.layout, b.local.data, b.local.ld,
                            adds ? beta : NULL, c.layout, c.local.data, c.local.ld,
                            options[below(is_half(type) ? 4 : 5)]) == TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = c.box[0]; i < c.box[1]; ++i) {
    for (int64_t j = c.box[2]; j < c.box[3]; ++j) {
      double complex sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += applied(op_a, a_turns ? value_at(type, p, i, 1) : value_at(type, i, p, 1)) *
               applied(op_b, b_turns ? value_at(type, j, p, 2) : value_at(type, p, j, 2));
      }
      sum = (scaled ? two : 1) * sum - (adds ? value_at(type, i, j, 3) : 0);
      wrong += get(type, at(&c.local, i - c.box[0], j - c.box[2])) == rounded(type, sum) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(is_intact_around(&c.local));
  free_distributed(&a), free_distributed(&b), free_distributed(&c);
}

/* A plan's calls give the bits of tessera_dist_matmul and leave all other memory as it is. */
static void test_plan(int type) {
  const int order = below(2) ? TESSERA_ROW_MAJOR : TESSERA_COL_MAJOR;
  const int op_a = TESSERA_NO_TRANS + (int)below(3), op_b = TESSERA_NO_TRANS + (int)below(3);
  const int64_t m = below(40), n = below(40), k = below(2) ? below(40) : 4200;
  const int a_turns = op_a != TESSERA_NO_TRANS, b_turns = op_b != TESSERA_NO_TRANS;
  distributed a = new_distributed(type, order, a_turns ? k : m, a_turns ? m : k, 1);
  distributed b = new_distributed(type, order, b_turns ? n : k, b_turns ? k : n, 2);
  distributed c = new_distributed(type, order, m, n, 3);
  const size_t bytes = c.local.bytes + 2 * sentinel;
  unsigned char alpha[16], beta[16], *before = malloc(bytes), *wanted = malloc(bytes);
  put_factor(type, alpha, 0.3);
  put_factor(type, beta, below(2) ? 0 : -0.7);
  memcpy(before, c.local.memory, bytes);
  CHECK(tessera_dist_matmul(context, order, type, op_a, op_b, alpha, a.layout, a.local.data,
                            a.local.ld, b.layout, b.local.data, b.local.ld, beta, c.layout,
                            c.local.data, c.local.ld, NULL) == TESSERA_OK);
  memcpy(wanted, c.local.memory, bytes);
  tessera_matmul_plan plan = 0;
  int64_t size = -1, size_before = -1;
  CHECK(tessera_matmul_plan_workspace_bytes(context, order, type, op_a, op_b, a.layout, b.layout,
                                            c.layout, "threads=2", &size_before) == TESSERA_OK);
  CHECK(tessera_matmul_plan_create(context, order, type, op_a, op_b, a.layout, b.layout, c.layout,
                                   "threads=2", &plan) == TESSERA_OK);
  CHECK(tessera_matmul_plan_bytes(plan, &size) == TESSERA_OK && size == size_before);
  for (int call = 0; call < 3; ++call) {
    memcpy(c.local.memory, before, bytes);
    CHECK(tessera_matmul_plan_execute(plan, alpha, a.local.data, a.local.ld, b.local.data,
                                      b.local.ld, beta, c.local.data, c.local.ld) == TESSERA_OK);
    CHECK(memcmp(c.local.memory, wanted, bytes) == 0);
  }
  CHECK(tessera_matmul_plan_free(&plan) == TESSERA_OK && plan == 0);
  free(before), free(wanted);
  free_distributed(&a), free_distributed(&b), free_distributed(&c);
}

/* b = alpha op(a) + beta b; moves: by tessera_redistribute. */
static void test_transpose(int type, int moves) {
  const int order = below(2) ? TESSERA_ROW_MAJOR : TESSERA_COL_MAJOR;
  const int op = moves ? TESSERA_NO_TRANS : TESSERA_NO_TRANS + (int)below(3);
  const int turns = op != TESSERA_NO_TRANS, is_opaque = type >= TESSERA_OPAQUE;
  const int64_t m = below(60), n = below(60);
  const double alpha = moves || is_opaque ? 1 : (double)(1 + below(2));
  const double beta = moves || is_opaque ? 0 : (double)below(2);
  distributed a = new_distributed(type, order, m, n, 1);
  distributed b = new_distributed(type, order, turns ? n : m, turns ? m : n, 2);
  const int code =
      moves ? tessera_redistribute(context, order, type, a.layout, a.local.data, a.local.ld,
                                   b.layout, b.local.data, b.local.ld)
            : tessera_dist_transpose(context, order, type, op, alpha, a.layout, a.local.data,
                                     a.local.ld, beta, b.layout, b.local.data, b.local.ld, NULL);
  CHECK(code == TESSERA_OK);
  int64_t wrong = 0;
  for (int64_t i = b.box[0]; i < b.box[1]; ++i) {
    for (int64_t j = b.box[2]; j < b.box[3]; ++j) {
      unsigned char want[64];
      const double complex value =
          applied(op, turns ? value_at(type, j, i, 1) : value_at(type, i, j, 1));
      put(type, want, is_opaque ? value : alpha * value + beta * value_at(type, i, j, 2));
      unsigned char* const got = at(&b.local, i - b.box[0], j - b.box[2]);
      wrong +=
          is_opaque ? memcmp(want, got, size_of(type)) != 0 : get(type, want) != get(type, got);
    }
  }
  CHECK(wrong == 0);
  CHECK(is_intact_around(&b.local));
  free_distributed(&a), free_distributed(&b);
}

/* Returns the key of a row: a whole number, negative for half of signed ones, or NaN. */
static double key_at(int type, int64_t row, int64_t kinds) {
  if (is_real(type) && row % 31 == 7) return NAN;
  return (double)(row * 7919 % kinds - (is_unsigned(type) ? 0 : kinds / 2));
}

static int differ(double a, double b) { return !(a == b || (a != a && b != b)); }

typedef struct {
  double key;
  int64_t place;
} pair;
static int sign;
/* NaN are last. */
static int compare(const void* x, const void* y) {
  const pair *p = x, *q = y;
  if (isnan(p->key) != isnan(q->key)) return isnan(p->key) ? 1 : -1;
  if (differ(p->key, q->key)) return sign * (p->key < q->key ? -1 : 1);
  return p->place < q->place ? -1 : 1;
}

/* Sorts keys, computes their order and fetches a payload by it, with uneven numbers of rows. */
static void test_sort(int type) {
  static const char* options[] = {NULL, "algorithm=samplesort", "algorithm=rounds threads=2"};
  const int direction = (int)below(2), only = (int)below(ranks + 1);
  int64_t total = 0, n = 0, before = 0, begin = 0, end = 0, count = 0, wrong = 0;
  for (int r = 0; r < ranks; ++r) {
    const int64_t rows = only < ranks && only != r ? 0 : below(3000);
    if (r == rank) n = rows, before = total;
    total += rows;
  }
  const int64_t kinds = 1 + below(total < range_of(type) ? total + 1 : range_of(type));
  pair* const want = malloc(((size_t)total + 1) * sizeof(pair));
  for (int64_t i = 0; i < total; ++i) want[i] = (pair){key_at(type, i, kinds), i};
  sign = direction == TESSERA_ASCENDING ? 1 : -1;
  qsort(want, (size_t)total, sizeof(pair), compare);
  CHECK(tessera_share(total, ranks, rank, &begin, &end) == TESSERA_OK);
  const int64_t capacity = n > end - begin ? n : end - begin;
  matrix keys = new_matrix(type, TESSERA_ROW_MAJOR, 1, capacity, 0);
  int32_t* const payload = malloc(((size_t)capacity + 1) * 12);
  int32_t* const carried = malloc(((size_t)capacity + 1) * 12);
  uint64_t* const order = malloc(((size_t)capacity + 1) * 8);
  for (int64_t i = 0; i < n; ++i) {
    put(type, at(&keys, 0, i), key_at(type, before + i, kinds));
    for (int64_t w = 0; w < 3; ++w) payload[3 * i + w] = (int32_t)(3 * (before + i) + w);
  }
  const void* const columns[1] = {keys.data};
  order[capacity] = 4711;
  CHECK(tessera_dist_argsort(context, 1, &type, &direction, n, columns, capacity, order, &count,
                             NULL) == TESSERA_OK);
  CHECK(count == end - begin && order[capacity] == 4711);
  CHECK(tessera_dist_permute(context, 12, n, payload, count, order, carried, NULL) == TESSERA_OK);
  for (int64_t i = 0; i < count; ++i) {
    wrong += order[i] == (uint64_t)want[begin + i].place ? 0 : 1;
    wrong += carried[3 * i + 2] == 3 * want[begin + i].place + 2 ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(tessera_dist_sort(context, type, direction, n, keys.data, capacity, &count,
                          options[below(3)]) == TESSERA_OK);
  CHECK(count == end - begin);
  for (int64_t i = 0; i < count; ++i)
    wrong += differ(creal(get(type, at(&keys, 0, i))), want[begin + i].key);
  CHECK(wrong == 0);
  CHECK(is_intact_around(&keys));
  free_matrix(&keys);
  free(payload), free(carried), free(order), free(want);
}

/* Returns sorted key i: runs of `width` equal keys, the last 3 of real types NaN; half of signed
 * keys are negative. */
static double sorted_at(int type, int direction, int64_t i, int64_t total, int64_t width) {
  const int64_t run = (direction == TESSERA_ASCENDING ? i : total - 1 - i) / width;
  if (is_real(type) && i >= total - 3) return NAN;
  return (double)(run - (is_unsigned(type) ? 0 : total / width / 2));
}

/* Searches and groups of sorted keys on uneven shares: runs cross the borders of ranks. */
static void test_sorted(int type) {
  const int direction = (int)below(2), only = (int)below(ranks + 1);
  int64_t total = 0, n = 0, before = 0, groups = 0, end = 0, distinct = 0, wrong = 0;
  for (int r = 0; r < ranks; ++r) {
    const int64_t rows = only < ranks && only != r ? 0 : below(2) * below(900);
    if (r == rank) n = rows, before = total;
    total += rows;
  }
  const int64_t width = total / range_of(type) + 1 + below(400);
  matrix keys = new_matrix(type, TESSERA_ROW_MAJOR, 1, n, 0);
  matrix found = new_matrix(type, TESSERA_ROW_MAJOR, 1, n, 0);
  for (int64_t i = 0; i < n; ++i)
    put(type, at(&keys, 0, i), sorted_at(type, direction, before + i, total, width));
  int64_t* const begins = malloc(((size_t)n + 1) * 24);
  int64_t *const counts = begins + n + 1, *const places = counts + n + 1;
  begins[n] = counts[n] = places[n] = 4711;
  CHECK(tessera_dist_groups(context, type, direction, n, keys.data, begins, &groups, &end,
                            "threads=2") == TESSERA_OK);
  CHECK(tessera_dist_unique(context, type, direction, n, keys.data, found.data, counts, &distinct,
                            NULL) == TESSERA_OK);
  CHECK(groups == distinct && groups <= n && begins[n] == 4711 && counts[n] == 4711);
  int64_t k = 0;
  for (int64_t i = before; i < before + n; ++i) {
    const double key = sorted_at(type, direction, i, total, width);
    if (i > 0 && !differ(key, sorted_at(type, direction, i - 1, total, width))) continue;
    int64_t next = i + 1;
    while (next < total && !differ(key, sorted_at(type, direction, next, total, width))) ++next;
    wrong += k < groups && begins[k] == i && counts[k] == next - i ? 0 : 1;
    wrong += differ(creal(get(type, at(&found, 0, k))), key);
    ++k;
    if (k == groups) wrong += end == next ? 0 : 1;
  }
  CHECK(k == groups && wrong == 0);
  for (int side = TESSERA_LEFT; side <= TESSERA_RIGHT; ++side) {
    CHECK(tessera_dist_searchsorted(context, type, direction, side, n, keys.data, n, keys.data,
                                    places) == TESSERA_OK);
    for (int64_t i = 0; i < n; ++i) {
      const double key = sorted_at(type, direction, before + i, total, width);
      int64_t place = before + i + (side == TESSERA_RIGHT ? 1 : 0);
      while (side == TESSERA_LEFT && place > 0 &&
             !differ(key, sorted_at(type, direction, place - 1, total, width)))
        --place;
      while (side == TESSERA_RIGHT && place < total &&
             !differ(key, sorted_at(type, direction, place, total, width)))
        ++place;
      wrong += places[i] == place ? 0 : 1;
    }
  }
  CHECK(wrong == 0 && places[n] == 4711);
  found.cols = groups; /* what is behind the groups is left as it is */
  CHECK(is_intact_around(&found));
  free(begins), free_matrix(&keys), free_matrix(&found);
}

/* Two columns, the second one descending. */
static void test_columns(int type, int other) {
  const int types[2] = {type, other};
  const int directions[2] = {TESSERA_ASCENDING, TESSERA_DESCENDING};
  double first[50], second[50]; /* memory for any type */
  uint64_t order[50];
  int64_t count = 0, wrong = 0;
  for (int64_t i = 0; i < 50; ++i) {
    const int64_t row = 50 * rank + i;
    put(type, (char*)first + (size_t)i * size_of(type), (double)(row % 2) - 1);
    put(other, (char*)second + (size_t)i * size_of(other), (double)row);
  }
  const void* const keys[2] = {first, second};
  CHECK(tessera_dist_argsort(context, 2, types, directions, 50, keys, 50, order, &count, NULL) ==
        TESSERA_OK);
  const int64_t half = 25 * ranks;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = 50 * rank + i;
    const int64_t want = place < half ? 2 * (half - 1 - place) : 2 * (2 * half - 1 - place) + 1;
    wrong += order[i] == (uint64_t)want ? 0 : 1;
  }
  CHECK(count == 50 && wrong == 0);
}

static void test(MPI_Comm part) {
  int threads = 0, size = 0, here = -1;
  MPI_Comm_rank(part, &here);
  MPI_Comm_size(part, &size);
  CHECK(tessera_context_create_f(MPI_Comm_c2f(part), &context) == TESSERA_OK);
  CHECK(tessera_context_rank(context, &rank) == TESSERA_OK && rank == here);
  CHECK(tessera_context_size(context, &ranks) == TESSERA_OK && ranks == size);
  CHECK(tessera_context_threads(context, &threads) == TESSERA_OK && threads >= 1);
  for (int i = 0; i < 36; ++i) test_matmul(numbers[i % 6]);
  for (int i = 0; i < 36; ++i) test_plan(numbers[i % 6]);
  for (int i = 0; i < 12; ++i) test_transpose(numbers[i % 4], 0);
  for (int i = 0; i < 6; ++i) {
    test_transpose(TESSERA_RECORD(1 + 3 * i), i % 2);
    test_transpose(numbers[i % 4], 1);
  }
  for (int i = 0; i < key_types; ++i) {
    test_sort(types_of_numbers[i]);
    test_sort(types_of_numbers[i]);
    for (int k = 0; k < 4; ++k) test_sorted(types_of_numbers[i]);
  }
  test_columns(TESSERA_F64, TESSERA_I32);
  test_columns(TESSERA_F16, TESSERA_I16);
  test_columns(TESSERA_I8, TESSERA_U16);
  CHECK(tessera_context_free(&context) == TESSERA_OK && context == 0);
}
