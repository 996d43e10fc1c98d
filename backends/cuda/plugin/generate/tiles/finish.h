// What happens to the sums of a product: an operation's factors and third input, its element-wise
// body, and the store.
#pragma once

#include <string>

#include "plugin/generate/text/text.h"
#include "plugin/generate/tiles/product.h"

namespace sluice::cuda {

/// The operation's own arithmetic on a sum.
struct Finish {
  /// An expression of `sum` and, at the same element, `added`.
  std::string value = "sum";
  int added = -1;  ///< an input that is stretched to the result; -1: none
  /// Instead: an input with an element for each row of the product; -1: none.
  int added_by_row = -1;
};

/// A function `finish` for the body of a kernel. It takes a row and a column of the product, and
/// `run` sums of columns from there on; it leaves out what lies outside of the product. It stores
/// pieces that divide the unbroken part of a row. Adds the inputs that it reads to the parameters.
/// Requires around it: `place` (copies.h), kM, kN, kRun, `T`, kRunsText.
std::string finish_text(const sluice_op& op, const Product& product, const Finish& finish, int run,
                        Parameters* parameters);

}  // namespace sluice::cuda
