#include "plugin/generate/tiles/product.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace sluice::cuda {

std::int64_t Product::num_batches() const {
  return std::accumulate(batch.begin(), batch.end(), std::int64_t{1}, std::multiplies<>());
}

int vector_of(std::int64_t neighbours, std::int64_t stride, int bytes) {
  int vector = 16 / bytes;
  while (neighbours % vector != 0 || stride % vector != 0) vector /= 2;
  return vector;
}

void simplify(Product* product) {
  const auto is_one = [](std::int64_t extent) { return extent == 1; };
  const bool shares_b = std::ranges::all_of(product->b.batch, is_one);
  const bool has_every_a = std::ranges::equal(product->a.batch, product->batch);
  // The rows of all matrices of the stack follow each other only where a row has its k together.
  if (shares_b && has_every_a && product->a.is_along_k) {
    product->m *= product->num_batches();
    product->a.extent = product->m;
    product->batch.clear();
    product->a.batch.clear();
    product->b.batch.clear();
  }
  if (product->n != 1 || product->m == 1) return;
  std::swap(product->m, product->n);
  std::swap(product->a, product->b);
  product->unbroken = product->n;
}

}  // namespace sluice::cuda
