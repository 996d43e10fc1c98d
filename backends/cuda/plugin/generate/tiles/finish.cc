#include "plugin/generate/tiles/finish.h"

#include "plugin/generate/text/body.h"
#include "plugin/generate/text/runs.h"

namespace sluice::cuda {

std::string finish_text(const sluice_op& op, const Product& product, const Finish& finish, int run,
                        Parameters* parameters) {
  const bool is_whole = product.unbroken % run == 0;
  // Without whole runs `i` is the element's own index.
  RunReader reader(op, is_whole ? run : 1);
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
    return head + "  const Index column = first, i = " + index + ";\n" + reader.loads() +
           "  Run<T, kRun> out;\n#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n" + own +
           body + "  out.at[j] = " + result +
           ";\n  }\n  *reinterpret_cast<Run<T, kRun>*>(y + i) = out;\n  };\n";
  }
  return head +
         "#pragma unroll\n  for (int j = 0; j < kRun; ++j) {\n  const Index column = first + j;\n"
         "  if (column >= kN) return;\n  const Index i = " +
         index + ";\n" + reader.loads() + own + body + "  y[i] = " + result + ";\n  }\n  };\n";
}

}  // namespace sluice::cuda
