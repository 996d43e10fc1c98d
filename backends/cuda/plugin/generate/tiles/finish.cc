#include "plugin/generate/tiles/finish.h"

#include "plugin/generate/text/body.h"
#include "plugin/generate/text/runs.h"

namespace sluice::cuda {

std::string finish_text(const sluice_op& op, const Product& product, const Finish& finish, int run,
                        Parameters* parameters) {
  const int piece = longest_run(product.unbroken, run);
  RunReader reader(op, piece, false, "kPiece");
  std::string own = "  const float sum = sums[from + j];\n";
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
  const std::string body = apply_body(op, finish.value, "(i + j)", read, &result);
  const std::string index = product.result_index.empty() ? "(place.batch * kM + row) * kN + column"
                                                         : product.result_index;
  return "  constexpr int kPiece = " + std::to_string(piece) +
         ";\n  const auto finish = [&](Index row, Index first, const float (&sums)[kRun]) {\n"
         "  if (row >= kM || first >= kN) return;\n" +
         rows +
         "#pragma unroll\n  for (int from = 0; from < kRun; from += kPiece) {\n"
         "  const Index column = first + from;\n  if (column >= kN) return;\n  const Index i = " +
         index + ";\n" + reader.loads() +
         "  Run<T, kPiece> out;\n#pragma unroll\n  for (int j = 0; j < kPiece; ++j) {\n" + own +
         body + "  out.at[j] = " + result +
         ";\n  }\n  *reinterpret_cast<Run<T, kPiece>*>(y + i) = out;\n  }\n  };\n";
}

}  // namespace sluice::cuda
