// Opens a compiled model, runs it on one image and prints the likeliest digit.
//
//   01_hello digits.sluice
#include "seven.h"
#include "sluice/sluice.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "01_hello: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto model = sluice::Model::open(argc > 1 ? argv[1] : "digits.sluice");
  if (!model) return fail(model.error());
  auto context = model->create_context();  // one for each thread; all share the model
  if (!context) return fail(context.error());
  const std::vector<float> image(std::begin(kSeven), std::end(kSeven));
  if (auto error = context->set_input("image", image, {1, 1, 8, 8})) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  const auto output = context->output<float>("probabilities");
  if (!output) return fail(output.error());
  print_digit(output->values.data());
}
