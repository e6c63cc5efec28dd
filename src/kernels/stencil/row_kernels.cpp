// Row kernels, compiled once for each instruction set. They read whole vectors around a row, lanes of which
// other tasks may be writing; those lanes are never used. The thread sanitizer cannot know that.

#include <cstdint>

#include "kernels/stencil/rows.hpp"
#include "kernels/stencil/vector.hpp"

#if defined(__clang__)
#define TESSERA_RACY_LANES __attribute__((no_sanitize("thread", "address")))
#else
#define TESSERA_RACY_LANES
#endif

namespace tessera::stencil::TESSERA_ISA {
namespace {

float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

template <class T>
T apply(Rule rule, T sum) {
  if (rule == Rule::linear) return sum;
  return sum == T{3} || sum == T{11} || sum == T{12} ? T{1} : T{0};
}

constexpr index_t chunk =
    64;  // elements: sums that stay in registers or L1 while the loop over taps runs outside

/// sums[0:n] of a chain at in, the loop over taps outside; the compiler makes vectors of the inner one.
template <class T>
void chain_sums(const Taps<T>& taps, const T* in, index_t n, T* sums) {
  for (index_t x = 0; x < n; ++x) sums[x] = taps.weight[0] * in[taps.offset[0] + x];
  for (index_t k = 1; k < taps.count; ++k) {
    const T weight = taps.weight[k];
    const T* u = in + taps.offset[k];
    for (index_t x = 0; x < n; ++x) sums[x] = fused(weight, u[x], sums[x]);
  }
}

/// The sum of the 2r + 1 values u[0], u[step], ... by doubling (Form::box).
template <int r, class T>
T doubled_sum(const T* u, index_t step) {
  const T p4 = r >= 2 ? (u[0] + u[step]) + (u[2 * step] + u[3 * step]) : u[0] + u[step];
  if constexpr (r == 1) return p4 + u[2 * step];
  if constexpr (r == 2) return p4 + u[4 * step];
  if constexpr (r == 3) return (p4 + (u[4 * step] + u[5 * step])) + u[6 * step];
  if constexpr (r == 4) {
    return (p4 + ((u[4 * step] + u[5 * step]) + (u[6 * step] + u[7 * step]))) + u[8 * step];
  }
}

template <class T, Rule rule, bool previous>
TESSERA_RACY_LANES void reference_chain(const Taps<T>& taps, const Rows<T>& a) {
  for (index_t y = 0; y < a.rows; ++y) {
    for (index_t x0 = 0; x0 < a.n; x0 += chunk) {
      const index_t n = a.n - x0 < chunk ? a.n - x0 : chunk;
      T sums[chunk];
      chain_sums(taps, a.in + y * a.stride_y + x0, n, sums);
      T* out = a.out + y * a.stride_y + x0;
      for (index_t x = 0; x < n; ++x) {
        out[x] = apply(rule, previous ? fused(taps.previous, out[x], sums[x]) : sums[x]);
      }
    }
  }
}

template <class T, int r>
TESSERA_RACY_LANES void reference_box(const Taps<T>& taps, const Rows<T>& a) {
  for (index_t y = 0; y < a.rows; ++y) {
    for (index_t x0 = 0; x0 < a.n; x0 += chunk) {
      const index_t n = a.n - x0 < chunk ? a.n - x0 : chunk;
      const T* in = a.in + (y - r) * a.stride_y + x0 - r;
      T columns[chunk + 2 * r];
      for (index_t x = 0; x < n + 2 * r; ++x) columns[x] = doubled_sum<r>(in + x, a.stride_y);
      T* out = a.out + y * a.stride_y + x0;
      for (index_t x = 0; x < n; ++x) out[x] = doubled_sum<r>(columns + x, 1) * taps.weight[0];
    }
  }
}

template <class T, bool through>
void put(T* out, index_t x, index_t n, typename Vec<T>::type v) {
  using V = Vec<T>;
  if (x >= 0 && x + V::lanes <= n) {
    if constexpr (through) {
      V::stream(out + x, v);
    } else {
      V::store(out + x, v);
    }
  } else {
    V::store_lanes(out + x, v, x < 0 ? -x : 0, n - x < V::lanes ? n - x : V::lanes);
  }
}

/// Elements from the vector boundary at or below out to out.
template <class T>
index_t lead(const T* out) {
  return static_cast<index_t>(reinterpret_cast<std::uintptr_t>(out) / sizeof(T)) & (Vec<T>::lanes - 1);
}

/// A full star of radius r: `rows` rows at once, so that a vector loaded once serves the rows above and below
/// it.
template <class T, int dims, int r, int rows, bool previous, bool through>
struct Star {
  using V = Vec<T>;
  using Type = typename V::type;
  static constexpr int halo = dims >= 2 ? r : 0;
  static constexpr int count = 2 * r * dims + 1;
  static constexpr int first_y = dims == 3 ? r : 0;
  static constexpr int first_x = first_y + halo;

  template <int k>
  [[gnu::always_inline]] static Type along_x(const Type* w, Type sum, const T* p, Type before, Type here,
                                             Type after) {
    if constexpr (k > r) {
      return sum;
    } else {
      const Type u = beside<T, k>(p, before, here, after);
      sum = dims == 1 && k == -r ? w[0] * u : V::fma(w[first_x + r + k], u, sum);
      return along_x<k + 1>(w, sum, p, before, here, after);
    }
  }

  TESSERA_RACY_LANES static void run(const Taps<T>& taps, const T* in, T* out, index_t sy, index_t sz,
                                     index_t n) {
    Type w[count];
    for (int k = 0; k < count; ++k) w[k] = V::all(taps.weight[k]);
    const Type past = V::all(taps.previous);
    const index_t start = -lead(out);
    Type before[rows], here[rows];
    for (int j = 0; j < rows; ++j) {
      before[j] = V::load(in + j * sy + start - V::lanes);
      here[j] = V::load(in + j * sy + start);
    }
    for (index_t x = start; x < n; x += V::lanes) {
      Type after[rows], column[rows + 2 * halo];
      for (int j = 0; j < rows; ++j) after[j] = V::load(in + j * sy + x + V::lanes);
      for (int j = 0; j < halo; ++j) {
        column[j] = V::load(in + (j - halo) * sy + x);
        column[rows + halo + j] = V::load(in + (rows + j) * sy + x);
      }
      for (int j = 0; j < rows; ++j) column[halo + j] = here[j];
      for (int j = 0; j < rows; ++j) {
        const T* p = in + j * sy + x;
        Type sum{};
        for (int k = 0; k < first_y; ++k) {
          const Type u = V::load(p + (k - r) * sz);
          sum = k == 0 ? w[0] * u : V::fma(w[k], u, sum);
        }
        for (int k = 0; k < halo; ++k) {
          sum = first_y + k == 0 ? w[0] * column[j] : V::fma(w[first_y + k], column[j + k], sum);
        }
        sum = along_x<-r>(w, sum, p, before[j], here[j], after[j]);
        for (int k = 1; k <= halo; ++k) sum = V::fma(w[first_x + 2 * r + k], column[j + halo + k], sum);
        for (int k = 1; k <= first_y; ++k) sum = V::fma(w[count - 1 - first_y + k], V::load(p + k * sz), sum);
        if constexpr (previous) sum = V::fma(past, V::load(out + j * sy + x), sum);
        put<T, through>(out + j * sy, x, n, sum);
      }
      for (int j = 0; j < rows; ++j) {
        before[j] = here[j];
        here[j] = after[j];
      }
    }
  }
};

/// The mean of a square of radius r: column sums shared by `rows` rows, then sums along x between registers.
template <class T, int r, int rows, bool through>
struct Box {
  using V = Vec<T>;
  using Type = typename V::type;

  /// sums[j] of the 2r + 1 vectors from row j - r down, at p.
  [[gnu::always_inline]] static void columns(const T* p, index_t sy, Type* sums) {
    Type u[rows + 2 * r];
    for (int j = 0; j < rows + 2 * r; ++j) u[j] = V::load(p + (j - r) * sy);
    Type p2[rows + 2 * r], p4[rows + 2 * r];
    for (int j = 0; j < rows + 2 * r - 1; ++j) p2[j] = u[j] + u[j + 1];
    if constexpr (r >= 2) {
      for (int j = 0; j < rows + 2 * r - 3; ++j) p4[j] = p2[j] + p2[j + 2];
    }
    for (int j = 0; j < rows; ++j) {
      if constexpr (r == 1) sums[j] = p2[j] + u[j + 2];
      if constexpr (r == 2) sums[j] = p4[j] + u[j + 4];
      if constexpr (r == 3) sums[j] = (p4[j] + p2[j + 4]) + u[j + 6];
      if constexpr (r == 4) sums[j] = (p4[j] + p4[j + 4]) + u[j + 8];
    }
  }

  template <int k>
  [[gnu::always_inline]] static Type at(Type before, Type here, Type after) {
    return beside<T, k>(nullptr, before, here, after);
  }
  /// u[k] + u[k + 1]
  template <int k>
  [[gnu::always_inline]] static Type pair(Type b, Type h, Type a) {
    return at<k>(b, h, a) + at<k + 1>(b, h, a);
  }
  template <int k>
  [[gnu::always_inline]] static Type four(Type b, Type h, Type a) {
    return pair<k>(b, h, a) + pair<k + 2>(b, h, a);
  }
  [[gnu::always_inline]] static Type along_x(Type b, Type h, Type a) {
    if constexpr (r == 1) return pair<-1>(b, h, a) + at<1>(b, h, a);
    if constexpr (r == 2) return four<-2>(b, h, a) + at<2>(b, h, a);
    if constexpr (r == 3) return (four<-3>(b, h, a) + pair<1>(b, h, a)) + at<3>(b, h, a);
    if constexpr (r == 4) return (four<-4>(b, h, a) + four<0>(b, h, a)) + at<4>(b, h, a);
  }

  TESSERA_RACY_LANES static void run(const Taps<T>& taps, const T* in, T* out, index_t sy, index_t,
                                     index_t n) {
    const Type w = V::all(taps.weight[0]);
    const index_t start = -lead(out);
    Type before[rows], here[rows], after[rows];
    columns(in + start - V::lanes, sy, before);
    columns(in + start, sy, here);
    for (index_t x = start; x < n; x += V::lanes) {
      columns(in + x + V::lanes, sy, after);
      for (int j = 0; j < rows; ++j) {
        put<T, through>(out + j * sy, x, n, along_x(before[j], here[j], after[j]) * w);
        before[j] = here[j];
        here[j] = after[j];
      }
    }
  }
};

/// Blocks of `jam` rows by Many, the rest one by one by One.
template <class T, class Many, class One, int many, bool through>
TESSERA_RACY_LANES void by_blocks(const Taps<T>& taps, const Rows<T>& a) {
  index_t y = 0;
  for (; y + many <= a.rows; y += many) {
    Many::run(taps, a.in + y * a.stride_y, a.out + y * a.stride_y, a.stride_y, a.stride_z, a.n);
  }
  for (; y < a.rows; ++y) {
    One::run(taps, a.in + y * a.stride_y, a.out + y * a.stride_y, a.stride_y, a.stride_z, a.n);
  }
  if constexpr (through) fence();
}

template <class T, int dims, int r, bool previous, bool through>
RowKernel<T> star_kernel() {
  constexpr int many = dims == 1 ? 1 : jam;
  return by_blocks<T, Star<T, dims, r, many, previous, through>, Star<T, dims, r, 1, previous, through>, many,
                   through>;
}

template <class T, int dims, int r>
RowKernel<T> star_kernel(const KernelKey& key) {
  if (key.previous) return star_kernel<T, dims, r, true, false>();
  return key.stores == Stores::through ? star_kernel<T, dims, r, false, true>()
                                       : star_kernel<T, dims, r, false, false>();
}

template <class T, int r>
RowKernel<T> star_kernel_by_dims(const KernelKey& key) {
  if (key.dims == 1) return star_kernel<T, 1, r>(key);
  return key.dims == 2 ? star_kernel<T, 2, r>(key) : star_kernel<T, 3, r>(key);
}

template <class T, int r>
RowKernel<T> box_kernel(const KernelKey& key) {
  if (key.loops == Loops::reference || !shifts_are_cheap) return reference_box<T, r>;
  if (key.stores == Stores::through) return by_blocks<T, Box<T, r, jam, true>, Box<T, r, 1, true>, jam, true>;
  return by_blocks<T, Box<T, r, jam, false>, Box<T, r, 1, false>, jam, false>;
}

template <class T>
RowKernel<T> kernel(const KernelKey& key) {
  if (key.form == Form::box) {
    switch (key.radius) {
      case 1:
        return box_kernel<T, 1>(key);
      case 2:
        return box_kernel<T, 2>(key);
      case 3:
        return box_kernel<T, 3>(key);
      default:
        return box_kernel<T, 4>(key);
    }
  }
  if (key.loops == Loops::vector && key.star && key.rule == Rule::linear) {
    switch (key.radius) {
      case 1:
        return star_kernel_by_dims<T, 1>(key);
      case 2:
        return star_kernel_by_dims<T, 2>(key);
      case 3:
        return star_kernel_by_dims<T, 3>(key);
      case 4:
        return star_kernel_by_dims<T, 4>(key);
      default:
        break;
    }
  }
  if (key.rule == Rule::life) {
    return key.previous ? reference_chain<T, Rule::life, true> : reference_chain<T, Rule::life, false>;
  }
  return key.previous ? reference_chain<T, Rule::linear, true> : reference_chain<T, Rule::linear, false>;
}

}  // namespace

RowKernel<float> row_kernel_f32(const KernelKey& key) { return kernel<float>(key); }
RowKernel<double> row_kernel_f64(const KernelKey& key) { return kernel<double>(key); }

}  // namespace tessera::stencil::TESSERA_ISA
