// Sluice's RoutedMatMul: one row times one matrix after the other.
#include <array>

#include "reference/families.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

enum RoutedInput { kRoutedRows, kRoutedMatrices, kRoutedScales, kRoutedZeros, kRoutes };

/// A [tokens, k] or [tokens, each, k], B [matrices, n, k] with `blocks` scales a row.
struct RoutedShape {
  std::int64_t tokens = 0, each = 0, matrices = 0, n = 0, k = 0;
  std::int64_t block = 0, blocks = 0;
  bool has_own_rows = false;
};

Status read_routed_shape(const Call& call, RoutedShape* shape) {
  const Dims a = input_dims(call, kRoutedRows);
  const Dims b = input_dims(call, kRoutedMatrices);
  const Dims routes = input_dims(call, kRoutes);
  if ((a.size() != 2 && a.size() != 3) || b.size() != 3 || routes.size() != 2 ||
      a[0] != routes[0] || (a.size() == 3 && a[1] != routes[1]) || a.back() != b[2]) {
    return refuse(call, "A, B and routes do not fit");
  }
  *shape = {routes[0], routes[1], b[0], b[1], b[2]};
  shape->has_own_rows = a.size() == 3;
  shape->block = call.attributes().get_int("block_size");
  if (shape->block > 0) shape->blocks = shape->k / shape->block;
  const std::array expected = {routes[0], routes[1], b[1]};
  return check_dims(call, call.output(0), expected, "output");
}

/// B in numbers that are not quantized.
Status read_matrices(const Call& call, const RoutedShape& shape, std::vector<double>* w) {
  *w = read_doubles(call.input(kRoutedMatrices));
  const std::vector<double> scales = read_doubles(call.input(kRoutedScales));
  const std::vector<double> zeros = read_doubles(call.input(kRoutedZeros));
  const std::size_t rows = index(shape.matrices * shape.n);
  const bool fits = w->size() == rows * index(shape.k) &&
                    scales.size() == rows * index(shape.blocks) &&
                    (zeros.empty() || zeros.size() == scales.size()) &&
                    shape.blocks * shape.block == (shape.block > 0 ? shape.k : 0);
  if (!fits) return refuse(call, "B, scales and zeros do not fit");
  for (std::size_t i = 0; shape.block > 0 && i < w->size(); ++i) {
    const std::size_t at = i / index(shape.block);
    (*w)[i] = ((*w)[i] - (zeros.empty() ? 0 : zeros[at])) * scales[at];
  }
  return plugin::ok();
}

Status run_routed_matmul(const Call& call) {
  RoutedShape shape;
  if (Status status = read_routed_shape(call, &shape); !status.is_ok()) return status;
  std::vector<double> w;
  if (Status status = read_matrices(call, shape, &w); !status.is_ok()) return status;
  const std::vector<double> x = read_doubles(call.input(kRoutedRows));
  const std::vector<std::int64_t> routes = read_ints(call.input(kRoutes));
  const std::int64_t pairs = shape.tokens * shape.each;
  if (x.size() != index((shape.has_own_rows ? pairs : shape.tokens) * shape.k) ||
      routes.size() != index(pairs)) {
    return refuse_model(call, "A must be f32, and routes i64");
  }
  std::vector<double> y;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::int64_t route = routes[index(i)];
    if (route == -1) {
      y.resize(y.size() + index(shape.n));
      continue;
    }
    if (route < 0 || route >= shape.matrices) {
      return plugin::index_outside(route, 0, shape.matrices);
    }
    const double* row = x.data() + (shape.has_own_rows ? i : i / shape.each) * shape.k;
    const double* matrix = w.data() + route * shape.n * shape.k;
    for (std::int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < shape.k; ++p) sum += row[p] * matrix[j * shape.k + p];
      y.push_back(sum);
    }
  }
  return write_doubles(call, 0, y);
}

}  // namespace

std::vector<KernelEntry> routed_kernels() {
  return {{.domain = "sluice",
           .kind = "RoutedMatMul",
           .run = run_routed_matmul,
           .num_required_inputs = 2}};
}

}  // namespace sluice::reference
