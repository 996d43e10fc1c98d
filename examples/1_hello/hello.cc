// Opens a compiled model, runs it on one image and prints the likeliest digit.
//
//   sluice compile examples/digits/digits.onnx -o digits.sluice
//   hello digits.sluice
#include <algorithm>
#include <cstdio>
#include <vector>

#include "sluice/sluice.hpp"

// An 8 x 8 picture of a seven.
static const std::vector<float> kSeven = {0, 0, .5, 1,  1,  1,  .4, 0,  //
                                          0, 0, .7, .6, .5, 1,  .4, 0,  //
                                          0, 0, 0,  0,  .3, 1,  .1, 0,  //
                                          0, 0, .2, .5, .9, 1,  .6, 0,  //
                                          0, 0, .8, 1,  1,  .7, .4, 0,  //
                                          0, 0, 0,  .5, .9, 0,  0,  0,  //
                                          0, 0, 0,  1,  .5, 0,  0,  0,  //
                                          0, 0, .6, 1,  .1, 0,  0,  0};

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "hello: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto model = sluice::Model::open(argc > 1 ? argv[1] : "digits.sluice");
  if (!model) return fail(model.error());
  auto context = model->create_context();
  if (!context) return fail(context.error());
  if (auto error = context->set_input("image", kSeven, {1, 1, 8, 8})) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  const auto output = context->output<float>("probabilities");
  if (!output) return fail(output.error());
  const auto best = std::max_element(output->values.begin(), output->values.end());
  std::printf("it is a %td (%.1f %%)\n", best - output->values.begin(), *best * 100);
}
