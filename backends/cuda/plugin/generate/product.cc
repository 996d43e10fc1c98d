// Matrix products: a block computes a tile of 16 x 16 elements from tiles in shared memory.

#include <algorithm>

#include "plugin/generate/families.h"
#include "plugin/generate/text/body.h"

namespace sluice::cuda {
namespace {

constexpr std::int64_t kTile = 16;

constexpr const char* kKinds[] = {"Gemm", "MatMul", nullptr};

/// y[batch][m][n] = sum over k of a[...] * b[...]; elements of `a` and `b` by strides.
struct Product {
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 0, a_column = 1;  // strides of a's rows and columns, after transposition
  std::int64_t b_row = 0, b_column = 1;
  std::vector<std::int64_t> batch;  // dimensions of the stack of products
  std::vector<std::int64_t> a_batch, b_batch;
};

bool is_gemm(const sluice_op& op) { return std::string_view(op.kind) == "Gemm"; }

Product gemm_of(const sluice_op& op) {
  const plugin::Attributes attributes(op);
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  Product product;
  product.a_row = a[1];
  product.b_row = b[1];
  const bool turns_a = attributes.get_int("transA") != 0;
  const bool turns_b = attributes.get_int("transB") != 0;
  product.m = a[turns_a ? 1 : 0];
  product.k = a[turns_a ? 0 : 1];
  product.n = b[turns_b ? 0 : 1];
  if (turns_a) std::swap(product.a_row, product.a_column);
  if (turns_b) std::swap(product.b_row, product.b_column);
  return product;
}

/// A vector is a row on the left and a column on the right.
Product matmul_of(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  Product product;
  product.k = a.back();
  product.a_row = product.k;
  if (a.size() > 1) {
    product.m = a[a.size() - 2];
    product.a_batch.assign(a.begin(), a.end() - 2);
  }
  if (b.size() > 1) {
    product.n = b.back();
    product.b_batch.assign(b.begin(), b.end() - 2);
  }
  product.b_row = product.n;
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const std::size_t num_matrix = (a.size() > 1 ? 1U : 0U) + (b.size() > 1 ? 1U : 0U);
  product.batch.assign(y.begin(), y.end() - static_cast<std::ptrdiff_t>(num_matrix));
  return product;
}

bool shapes_fit_gemm(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  if (a.size() != 2 || b.size() != 2 || y.size() != 2) return false;
  const Product product = gemm_of(op);
  const bool turns_b = plugin::Attributes(op).get_int("transB") != 0;
  const bool has_c = op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor);
  return agree(product.k, b[turns_b ? 1 : 0]) && agree(product.m, y[0]) && agree(product.n, y[1]) &&
         (!has_c || broadcasts_to(plugin::dims_of(op.inputs[2].tensor), y));
}

bool shapes_fit_matmul(const sluice_op& op) {
  const Dims a = plugin::dims_of(op.inputs[0].tensor);
  const Dims b = plugin::dims_of(op.inputs[1].tensor);
  const Dims y = plugin::dims_of(op.outputs[0].tensor);
  const std::size_t num_rows = a.size() > 1 ? 1 : 0;
  const std::size_t num_columns = b.size() > 1 ? 1 : 0;
  if (a.empty() || b.empty() || y.size() < num_rows + num_columns) return false;
  const Product product = matmul_of(op);
  const Dims matrix = y.last(num_rows + num_columns);
  return agree(product.k, num_columns == 1 ? b[b.size() - 2] : b[0]) &&
         (num_rows == 0 || agree(product.m, matrix.front())) &&
         (num_columns == 0 || agree(product.n, matrix.back())) &&
         broadcasts_to(product.a_batch, product.batch) &&
         broadcasts_to(product.b_batch, product.batch);
}

Status check(const sluice_op& op) {
  if (Status status = check_floats(op, op.num_inputs); !status.is_ok()) return status;
  if (op.num_inputs < 2) return shapes_disagree(op);
  const bool fits = is_gemm(op) ? shapes_fit_gemm(op) : shapes_fit_matmul(op);
  return fits ? plugin::ok() : shapes_disagree(op);
}

std::string times(const std::string& index, std::int64_t stride) {
  return index + " * " + std::to_string(stride);
}

/// The statement that fills a tile of `name` with element [row][column], or 0 outside.
std::string load_tile(const char* tile, const std::string& pointer, const std::string& row,
                      const std::string& column, std::int64_t rows, std::int64_t columns,
                      std::int64_t row_stride, std::int64_t column_stride) {
  return std::string("    ") + tile + "[threadIdx.y][threadIdx.x] = " + row + " < " +
         std::to_string(rows) + " && " + column + " < " + std::to_string(columns) + " ? " +
         "float(" + pointer + "[" + times("(" + row + ")", row_stride) + " + " +
         times("(" + column + ")", column_stride) + "]) : 0.0f;\n";
}

/// Which tile of which product the block has.
std::string find_tile(const Product& product) {
  const std::string across = std::to_string((product.n + kTile - 1) / kTile);
  const std::string tiles = std::to_string((product.m + kTile - 1) / kTile);
  return "  const Index row = blockIdx.x / " + across + " % " + tiles + " * " +
         std::to_string(kTile) + " + threadIdx.y;\n  const Index column = blockIdx.x % " + across +
         " * " + std::to_string(kTile) + " + threadIdx.x;\n  const Index batch = blockIdx.x / " +
         across + " / " + tiles + ";\n";
}

std::string sum_products(const Product& product) {
  const std::string tile = std::to_string(kTile);
  const auto start = [&](const char* pointer, const std::vector<std::int64_t>& batch,
                         std::int64_t matrix) {
    return std::string("  ") + pointer + " += (" + broadcast_index("batch", batch, product.batch) +
           ") * " + std::to_string(matrix) + ";\n";
  };
  return start("a", product.a_batch, product.m * product.k) +
         start("b", product.b_batch, product.k * product.n) + "  __shared__ float a_tile[" + tile +
         "][" + tile + " + 1], b_tile[" + tile + "][" + tile + " + 1];\n  float sum = 0.0f;\n" +
         "  for (Index k = 0; k < " + std::to_string(product.k) + "; k += " + tile + ") {\n" +
         load_tile("a_tile", "a", "row", "k + threadIdx.x", product.m, product.k, product.a_row,
                   product.a_column) +
         load_tile("b_tile", "b", "k + threadIdx.y", "column", product.k, product.n, product.b_row,
                   product.b_column) +
         "    __syncthreads();\n#pragma unroll\n    for (int i = 0; i < " + tile +
         "; ++i) sum += a_tile[threadIdx.y][i] * b_tile[i][threadIdx.x];\n    __syncthreads();\n  "
         "}\n";
}

/// The product with Gemm's factors and third input.
std::string finish_sum(const sluice_op& op, Parameters* parameters) {
  if (!is_gemm(op)) return "sum";
  const plugin::Attributes attributes(op);
  const float alpha = attributes.get_float("alpha", 1);
  const float beta = attributes.get_float("beta", 1);
  std::string value = alpha == 1 ? "sum" : literal(alpha) + " * sum";
  if (op.num_inputs > 2 && !plugin::is_absent(op.inputs[2].tensor)) {
    const std::string index = broadcast_index("i", plugin::dims_of(op.inputs[2].tensor),
                                              plugin::dims_of(op.outputs[0].tensor));
    value +=
        " + " + (beta == 1 ? "" : literal(beta) + " * ") + parameters->add(2) + "[" + index + "]";
  }
  return value;
}

Status write(const sluice_op& op, Source* source) {
  const Product product = is_gemm(op) ? gemm_of(op) : matmul_of(op);
  const std::int64_t count = plugin::num_elements(op.outputs[0].tensor);
  Parameters parameters(op);
  const std::string a = parameters.add(0);
  const std::string b = parameters.add(1);
  const std::string value = finish_sum(op, &parameters);
  add_body_inputs(op, &parameters);
  const std::int64_t largest = std::max({count, plugin::num_elements(op.inputs[0].tensor),
                                         plugin::num_elements(op.inputs[1].tensor)});
  source->text = constants_text(op) + kernel_head(parameters, largest) + "  const auto* a = " + a +
                 ";\n  const auto* b = " + b + ";\n" + find_tile(product) + sum_products(product) +
                 "  if (row >= " + std::to_string(product.m) +
                 " || column >= " + std::to_string(product.n) + ") return;\n  const Index i = (" +
                 times("batch", product.m) + " + row) * " + std::to_string(product.n) +
                 " + column;\n" + store_result(op, value, "i") + "}\n";
  source->block = {kTile, kTile, 1};
  source->operands = parameters.operands();
  const std::int64_t tiles = ((product.m + kTile - 1) / kTile) * ((product.n + kTile - 1) / kTile) *
                             (count / (product.m * product.n));
  return set_grid(tiles, 1, source) ? plugin::ok() : too_large(op);
}

}  // namespace

const Family kProductFamily = {kKinds, check, write};

}  // namespace sluice::cuda
