#include "plugin/generate/tiles/finish.h"

#include <algorithm>

#include "plugin/generate/text/body.h"
#include "plugin/generate/text/types.h"

namespace sluice::cuda {
namespace {

/// How an operand stands to the neighbours of a row of the product.
enum class Along {
  kSame,   ///< one element for all of them
  kRun,    ///< neighbours as well
  kMixed,  ///< any
};

Along along_row(Dims operand, Dims dims, const Product& product) {
  bool is_same = true;
  bool is_run = true;
  for (std::size_t i = 0; i < std::min(product.num_row_axes, dims.size()); ++i) {
    const std::int64_t extent = dims[dims.size() - 1 - i];
    const std::int64_t own = i < operand.size() ? operand[operand.size() - 1 - i] : 1;
    if (extent == 1) continue;
    is_same = is_same && own == 1;
    is_run = is_run && own == extent;
  }
  if (product.num_row_axes == 0) return Along::kMixed;
  return is_same ? Along::kSame : is_run ? Along::kRun : Along::kMixed;
}

/// Writes how operands are read: by statements ahead of the loop over a run, and an expression
/// within.
class Reader {
 public:
  Reader(const sluice_op& op, const Product& product, bool is_whole)
      : dims_(plugin::dims_of(op.outputs[0].tensor)), product_(product), is_whole_(is_whole) {}

  std::string read(const std::string& name, const sluice_tensor& tensor) {
    const Dims dims = plugin::dims_of(tensor);
    const Along along = along_row(dims, dims_, product_);
    // Without whole runs `i` is the element's own index.
    if (!is_whole_) return name + "[" + broadcast_index("i", dims, dims_) + "]";
    if (along == Along::kMixed) return name + "[" + broadcast_index("(i + j)", dims, dims_) + "]";
    const std::string at = broadcast_index("i", dims, dims_);
    if (along == Along::kSame) {
      statements_ += "  const float v_" + name + " = " + name + "[" + at + "];\n";
      return "v_" + name;
    }
    statements_ += "  const auto v_" + name + " = load_run<kRun>(" + name + " + " + at + ");\n";
    return "v_" + name + ".at[j]";
  }
  const std::string& statements() const { return statements_; }

 private:
  const Dims dims_;
  const Product& product_;
  const bool is_whole_;
  std::string statements_;
};

}  // namespace

std::string finish_text(const sluice_op& op, const Product& product, const Finish& finish, int run,
                        Parameters* parameters) {
  const bool is_whole = product.unbroken % run == 0;
  Reader reader(op, product, is_whole);
  std::string own = "  const float sum = sums[j];\n";
  if (finish.added >= 0) {
    const std::string name = parameters->add(finish.added);
    own += "  const float added = " + reader.read(name, op.inputs[finish.added].tensor) + ";\n";
  }
  std::string rows;
  if (finish.added_by_row >= 0) {
    rows = "  const float added = " + parameters->add(finish.added_by_row) +
           "[place.batch * kM + row];\n";
  }
  add_body_inputs(op, parameters);
  const auto read = [&](int i) {
    return reader.read("x" + std::to_string(op.num_inputs + i), op.body_inputs[i].tensor);
  };
  std::string result;
  const std::string body = apply_body(op, finish.value, is_whole ? "(i + j)" : "i", read, &result);
  const std::string index = product.result_index.empty() ? "(place.batch * kM + row) * kN + column"
                                                         : product.result_index;
  const std::string head =
      "  const auto finish = [&](Index row, Index first, const float (&sums)[kRun]) {\n"
      "  if (row >= kM || first >= kN) return;\n" +
      rows;
  if (is_whole) {
    return head + "  const Index column = first, i = " + index + ";\n" + reader.statements() +
           "  Run<T, kRun> out;\n#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n" + own +
           body + "  out.at[j] = " + result +
           ";\n  }\n  *reinterpret_cast<Run<T, kRun>*>(y + i) = out;\n  };\n";
  }
  return head +
         "#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n  const Index column = first + j;\n"
         "  if (column >= kN) return;\n  const Index i = " +
         index + ";\n" + own + body + "  y[i] = " + result + ";\n  }\n  };\n";
}

}  // namespace sluice::cuda
