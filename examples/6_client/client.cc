// The same program over an engine in this process and over a daemon.
//
//   sluice compile examples/digits/digits.onnx -o digits.sluice
//   client digits.sluice                              in this process
//   client digits.sluice unix:/run/sluice.sock        in the daemon at this address
#include <algorithm>
#include <cstdio>
#include <vector>

#include "sluice/runtime.hpp"

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
  std::fprintf(stderr, "client: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  auto runtime = argc > 2 ? sluice::Runtime::connect(argv[2]) : sluice::Runtime::create();
  if (!runtime) return fail(runtime.error());
  auto model = runtime->load({.path = argc > 1 ? argv[1] : "digits.sluice"});
  if (!model) return fail(model.error());
  auto reply = model->infer({sluice::tensor<float>("image", kSeven, {1, 1, 8, 8})});
  if (!reply) return fail(reply.error());
  const auto output = reply->output<float>("probabilities");
  if (!output) return fail(output.error());
  const auto best = std::max_element(output->values.begin(), output->values.end());
  std::printf("it is a %td (%.1f %%)\n", best - output->values.begin(), *best * 100);
}
