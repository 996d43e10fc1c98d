// The same program over an engine in this process and over a daemon.
//
//   08_daemon digits.sluice                              in this process
//   08_daemon digits.sluice unix:/run/sluice.sock        in the daemon at this address
#include "seven.h"
#include "sluice/runtime.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "08_daemon: %s\n", error.message.c_str());
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
  print_digit(output->values.data());
}
