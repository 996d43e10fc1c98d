// MatMul, Gemm, MatMulInteger, QLinearMatMul, NarrowMatMul, Det.
#include <algorithm>
#include <cmath>

#include "reference/families.h"
#include "reference/kernels/matrix/product.h"
#include "reference/kernels/matrix/quantization.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

constexpr Types<Half, Bfloat16, float, double, std::int32_t, std::int64_t, std::uint32_t,
                std::uint64_t>
    kProducts;

/// A product of stacks of matrices, the stacks broadcast.
struct Product {
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<std::int64_t> a_batch, b_batch, batch;
};

/// Vectors become a row on the left and a column on the right.
Status make_product(const Call& call, Dims a, Dims b, Product* product) {
  if (a.empty() || b.empty()) return refuse(call, "a scalar is no matrix");
  const bool is_row = a.size() == 1;
  const bool is_column = b.size() == 1;
  product->m = is_row ? 1 : a[a.size() - 2];
  product->k = a.back();
  product->n = is_column ? 1 : b.back();
  const std::int64_t rows = is_column ? b[0] : b[b.size() - 2];
  if (rows != product->k) {
    return refuse(call, plugin::to_string(a) + " and " + plugin::to_string(b) + " do not multiply");
  }
  const Dims a_batch = is_row ? Dims() : a.first(a.size() - 2);
  const Dims b_batch = is_column ? Dims() : b.first(b.size() - 2);
  product->a_batch.assign(a_batch.begin(), a_batch.end());
  product->b_batch.assign(b_batch.begin(), b_batch.end());
  if (Status status = broadcast_dims(a_batch, b_batch, &product->batch); !status.is_ok()) {
    return refuse(call, status.text);
  }
  std::vector<std::int64_t> expected = product->batch;
  if (!is_row) expected.push_back(product->m);
  if (!is_column) expected.push_back(product->n);
  return check_dims(call, call.output(0), expected, "output");
}

/// Adds the products to `y`. Requires: the spans have the sizes of `product`.
template <typename T>
void add_products(const Product& product, std::span<const T> a, std::span<const T> b,
                  std::vector<T>& y) {
  const std::int64_t m = product.m, n = product.n, k = product.k;
  const std::array<Dims, 2> sources = {product.a_batch, product.b_batch};
  for_each_broadcast(Dims(product.batch), sources, [&](std::int64_t i, const auto& offsets) {
    add_product(m, n, k, a.data() + offsets[0] * m * k, k, b.data() + offsets[1] * k * n, n,
                y.data() + i * m * n, n);
  });
}

Status run_matmul(const Call& call) {
  Product product;
  if (Status status = make_product(call, input_dims(call, 0), input_dims(call, 1), &product);
      !status.is_ok()) {
    return status;
  }
  return dispatch(kProducts, call.input(0).element_type, [&]<typename T>() {
    if (Status status = check_types(call, element_type_of<T>()); !status.is_ok()) return status;
    const Loaded<T> a(call.input(0));
    const Loaded<T> b(call.input(1));
    std::vector<Compute<T>> y(index(plugin::num_elements(call.output(0))));
    add_products<Compute<T>>(product, a.values(), b.values(), y);
    store<T>(call.output(0), y);
    return plugin::ok();
  });
}

template <typename T>
std::vector<T> transposed(std::span<const T> values, std::int64_t rows, std::int64_t columns) {
  std::vector<T> result(values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      result[index(c * rows + r)] = values[index(r * columns + c)];
    }
  }
  return result;
}

template <typename T>
Status run_gemm_of(const Call& call, std::int64_t m, std::int64_t n, std::int64_t k) {
  using V = Compute<T>;
  if (Status status = check_types(call, element_type_of<T>()); !status.is_ok()) return status;
  const Loaded<T> a(call.input(0));
  const Loaded<T> b(call.input(1));
  std::vector<V> a_flipped, b_flipped;
  std::span<const V> a_values = a.values(), b_values = b.values();
  // `transposed` takes the sizes of what it reads: A is [k, m] here.
  if (call.attributes().get_int("transA") != 0) {
    a_values = a_flipped = transposed(a_values, k, m);
  }
  if (call.attributes().get_int("transB") != 0) {
    b_values = b_flipped = transposed(b_values, n, k);
  }
  std::vector<V> y(index(m * n));
  add_product(m, n, k, a_values.data(), k, b_values.data(), n, y.data(), n);
  const float alpha = call.attributes().get_float("alpha", 1);
  const float beta = call.attributes().get_float("beta", 1);
  if (alpha != 1) {
    for (V& value : y) value = static_cast<V>(value * alpha);
  }
  if (call.has_input(2)) {
    const Loaded<T> c(call.input(2));
    std::vector<std::int64_t> dims;
    const Dims target = output_dims(call, 0);
    const Status met = broadcast_dims(input_dims(call, 2), target, &dims);
    if (!met.is_ok() || !std::ranges::equal(dims, target)) {
      return refuse(call, "C does not broadcast to the output");
    }
    for_each_broadcast(target, std::array{input_dims(call, 2)}, [&](auto i, const auto& offsets) {
      const V value = c.values()[index(offsets[0])];
      y[index(i)] += beta == 1 ? value : static_cast<V>(value * beta);
    });
  }
  store<T>(call.output(0), y);
  return plugin::ok();
}

Status run_gemm(const Call& call) {
  const Dims a = input_dims(call, 0);
  const Dims b = input_dims(call, 1);
  if (a.size() != 2 || b.size() != 2) return refuse(call, "A and B must be matrices");
  const bool flip_a = call.attributes().get_int("transA") != 0;
  const bool flip_b = call.attributes().get_int("transB") != 0;
  const std::int64_t m = a[flip_a ? 1 : 0];
  const std::int64_t k = a[flip_a ? 0 : 1];
  const std::int64_t n = b[flip_b ? 0 : 1];
  if (b[flip_b ? 1 : 0] != k) return refuse(call, "A and B do not multiply");
  const std::array expected = {m, n};
  if (Status status = check_dims(call, call.output(0), expected, "output"); !status.is_ok()) {
    return status;
  }
  return dispatch(kProducts, call.input(0).element_type,
                  [&]<typename T>() { return run_gemm_of<T>(call, m, n, k); });
}

/// The product of quantized numbers less their zero points: a's per row, b's per column.
template <typename V>
Status quantized_product(const Call& call, int a, int a_zero, int b, int b_zero,
                         std::vector<V>* y) {
  Product product;
  if (Status status = make_product(call, input_dims(call, a), input_dims(call, b), &product);
      !status.is_ok()) {
    return status;
  }
  std::vector<V> a_values, b_values;
  const Status shifted_a = read_shifted(call, a, a_zero, kRowAxis, &a_values);
  if (!shifted_a.is_ok()) return shifted_a;
  const Status shifted_b = read_shifted(call, b, b_zero, kColumnAxis, &b_values);
  if (!shifted_b.is_ok()) return shifted_b;
  y->assign(index(plugin::num_elements(call.output(0))), 0);
  add_products<V>(product, a_values, b_values, *y);
  return plugin::ok();
}

Status run_matmul_integer(const Call& call) {
  std::vector<std::int32_t> y;
  if (Status status = quantized_product(call, 0, 2, 1, 3, &y); !status.is_ok()) return status;
  if (call.output(0).element_type != plugin::kI32)
    return refuse_model(call, "the output must be i32");
  store<std::int32_t>(call.output(0), y);
  return plugin::ok();
}

Status run_qlinear_matmul(const Call& call) {
  std::vector<double> y;
  if (Status status = quantized_product(call, 0, 2, 3, 5, &y); !status.is_ok()) return status;
  const std::vector<double> a_scale = read_doubles(call.input(1));
  const std::vector<double> b_scale = read_doubles(call.input(4));
  const std::vector<double> y_scale = read_doubles(call.input(6));
  if (y_scale.size() != 1 || a_scale.empty() || b_scale.empty()) {
    return refuse_model(call, "scales are missing");
  }
  const Dims dims = output_dims(call, 0);
  const std::int64_t n = dims.empty() ? 1 : dims.back();
  const std::int64_t m = dims.size() < 2 ? 1 : dims[dims.size() - 2];
  const auto is_fit = [](const auto& scale, std::int64_t size) {
    return scale.size() == 1 || static_cast<std::int64_t>(scale.size()) == size;
  };
  if (!is_fit(a_scale, m) || !is_fit(b_scale, n)) return refuse(call, "scales do not fit");
  std::vector<double> scaled(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t row = i / index(n) % index(m);
    const std::size_t column = i % index(n);
    scaled[i] = y[i] * a_scale[a_scale.size() == 1 ? 0 : row] *
                b_scale[b_scale.size() == 1 ? 0 : column] / y_scale[0];
  }
  return write_quantized(call, 0, scaled, call.input(7));
}

/// The matrix [k, n] that NarrowMatMul's B, scales and zeros stand for. Rows of a flipped B may
/// have `places` instead of k.
Status read_narrow(const Call& call, std::int64_t k, std::int64_t n, std::int64_t places,
                   std::vector<double>* w) {
  const bool is_flipped = call.attributes().get_int("transB") != 0;
  const std::int64_t size = call.attributes().get_int("block_size");
  const std::vector<double> b = read_doubles(call.input(1));
  const std::vector<double> scales = read_doubles(call.input(2));
  std::vector<double> zeros = read_doubles(call.input(3));
  // Blocks run along k; the last may be partial.
  const std::int64_t blocks = size > 0 ? places / size + (places % size != 0 ? 1 : 0) : 0;
  if (zeros.size() == 1 && scales.size() > 1) zeros.assign(scales.size(), zeros[0]);
  const bool fits = b.size() == index(places * n) && scales.size() == index(blocks * n) &&
                    (zeros.empty() || zeros.size() == scales.size());
  if (!fits) return refuse(call, "B, scales and zeros do not fit");
  w->resize(index(k * n));
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t j = 0; j < n; ++j) {
      double value = b[index(is_flipped ? j * places + p : p * n + j)];
      if (size > 0) {
        const std::size_t at = index(is_flipped ? j * blocks + p / size : p / size * n + j);
        value = (value - (zeros.empty() ? 0 : zeros[at])) * scales[at];
      }
      (*w)[index(p * n + j)] = value;
    }
  }
  return plugin::ok();
}

Status run_narrow_matmul(const Call& call) {
  const Dims a = input_dims(call, 0);
  const Dims b = input_dims(call, 1);
  const bool is_flipped = call.attributes().get_int("transB") != 0;
  if (a.empty() || b.size() != 2) return refuse(call, "A and B do not multiply");
  const std::int64_t k = a.back();
  const std::int64_t n = b[is_flipped ? 0 : 1];
  const std::int64_t places = b[is_flipped ? 1 : 0];
  const std::int64_t size = is_flipped ? call.attributes().get_int("block_size") : 0;
  if (places < k || places >= k + std::max<std::int64_t>(size, 1)) {
    return refuse(call, "A and B do not multiply");
  }
  std::vector<double> w;
  if (Status status = read_narrow(call, k, n, places, &w); !status.is_ok()) return status;
  const std::vector<double> x = read_doubles(call.input(0));
  const std::int64_t m = size_of(a.first(a.size() - 1));
  if (x.size() != index(m * k)) return refuse_model(call, "A must be f32");
  std::vector<double> y(index(m * n));
  add_product(m, n, k, x.data(), k, w.data(), n, y.data(), n);
  return write_doubles(call, 0, y);
}

/// By elimination with partial pivoting.
double determinant(std::span<double> a, std::int64_t n) {
  double result = 1;
  for (std::int64_t c = 0; c < n; ++c) {
    std::int64_t pivot = c;
    for (std::int64_t r = c + 1; r < n; ++r) {
      if (std::fabs(a[index(r * n + c)]) > std::fabs(a[index(pivot * n + c)])) pivot = r;
    }
    const double value = a[index(pivot * n + c)];
    if (value == 0) return 0;
    if (pivot != c) {
      // Rows that change places change the sign.
      result = -result;
      for (std::int64_t j = 0; j < n; ++j) {
        std::swap(a[index(pivot * n + j)], a[index(c * n + j)]);
      }
    }
    result *= value;
    for (std::int64_t r = c + 1; r < n; ++r) {
      const double factor = a[index(r * n + c)] / value;
      for (std::int64_t j = c; j < n; ++j) a[index(r * n + j)] -= factor * a[index(c * n + j)];
    }
  }
  return result;
}

Status run_det(const Call& call) {
  const Dims dims = input_dims(call, 0);
  if (dims.size() < 2 || dims.back() != dims[dims.size() - 2]) {
    return refuse(call, plugin::to_string(dims) + " is not square");
  }
  const std::int64_t n = dims.back();
  std::vector<double> x = read_doubles(call.input(0));
  if (x.size() != index(size_of(dims))) return refuse_model(call, "unknown element type");
  std::vector<double> y;
  for (std::int64_t i = 0; i < size_of(dims.first(dims.size() - 2)); ++i) {
    y.push_back(determinant(std::span(x).subspan(index(i * n * n), index(n * n)), n));
  }
  return write_doubles(call, 0, y);
}

}  // namespace

std::vector<KernelEntry> matmul_kernels() {
  return {{.kind = "MatMul", .run = run_matmul},
          {.kind = "Gemm", .run = run_gemm},
          {.kind = "MatMulInteger", .run = run_matmul_integer},
          {.kind = "QLinearMatMul", .run = run_qlinear_matmul},
          {.domain = "sluice", .kind = "NarrowMatMul", .run = run_narrow_matmul},
          {.kind = "Det", .run = run_det}};
}

}  // namespace sluice::reference
