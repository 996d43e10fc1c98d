// A product of matrices as a tile kernel sees it: after transposition, and with stacks that share
// the right matrix joined to one tall product.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/backend.h"

namespace sluice::cuda {

/// How a factor lies in memory. Its lines are rows of a, or columns of b; each has k elements.
struct Factor {
  int operand = 0;          ///< number of the operation's input
  std::int64_t extent = 1;  ///< number of lines
  bool is_along_k = true;   ///< neighbours in memory are of one line; else of neighbouring lines
  std::int64_t stride = 1;  ///< elements to the next line; without is_along_k, to the next k
  int vector = 1;           ///< elements that one load may take: a power of two, up to 16 bytes
  std::int64_t matrix = 0;  ///< elements of a matrix of the stack
  std::vector<std::int64_t> batch;  ///< dimensions of the stack, stretched to Product::batch
};

/// The window of a convolution, whose b has a line per pixel of the output and is never stored: an
/// element is read from the image, or is 0 in the padding.
struct Gathering {
  std::int64_t taps = 0;  ///< elements of the window, at most kMaxTaps; 0: b is stored
  std::string members;    ///< text of the functions `locate` and `step` (copies.h)
  static constexpr std::int64_t kMaxTaps = 64;
};

/// y[batch][row][column] = the sum over k of a[batch][row][k] * b[batch][k][column].
struct Product {
  std::int64_t m = 1, n = 1, k = 1;
  Factor a, b;
  std::vector<std::int64_t> batch = {};
  Gathering gathering = {};
  /// The offset of column `o` of b, as text; without it, as the factor says.
  std::string column_offset = {};
  /// The element of y at `row` and `column` of the product `batch`, as text.
  std::string result_index = {};
  /// Elements of a row between two gaps; n if there are none.
  std::int64_t unbroken = 1;

  std::int64_t num_batches() const;
};

/// The widest load, in elements of `bytes`, for which a factor's lines begin and end at multiples.
int vector_of(std::int64_t neighbours, std::int64_t stride, int bytes);

/// Joins the rows of a stack of products that share b, and turns the product of a matrix and a
/// column around, so that the vector comes first and its elements are read once.
void simplify(Product* product);

}  // namespace sluice::cuda
