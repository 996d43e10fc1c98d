// An operator of the program's own: a softmax with a temperature, which the model calls
// com.example::SoftmaxAt. The program registers it, compiles the model, and runs it.
//
//   11_operator custom.onnx
#include <array>
#include <string>

#include "seven.h"
#include "sluice/compile.hpp"
#include "softmax_at.h"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "11_operator: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (auto error = sluice::register_operator(softmax_at())) return fail(*error);

  auto package = sluice::compile_file(argc > 1 ? argv[1] : "custom.onnx");
  if (!package) return fail(package.error());
  auto model = sluice::Model::open_copy(*package->bytes());  // or package->save(path)
  if (!model) return fail(model.error());
  auto context = model->create_context();
  if (!context) return fail(context.error());

  const std::array<std::int64_t, 4> dims = {1, 1, 8, 8};
  if (auto error = context->set_input<float>("image", kSeven, dims)) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  const auto probabilities = context->output<float>("probabilities")->values;
  print_digit(probabilities.data());
}
