// Memory of the program: the package, the input and the output lie in buffers that it owns, and
// nothing is copied. A second output is taken out of the context and outlives it.
//
//   own_buffers digits.sluice
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
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
  std::fprintf(stderr, "own_buffers: %s\n", error.message.c_str());
  return 1;
}

static void print(std::span<const float> probabilities) {
  const auto best = std::max_element(probabilities.begin(), probabilities.end());
  std::printf("it is a %td (%.1f %%)\n", best - probabilities.begin(), *best * 100);
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "digits.sluice";
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  auto model = sluice::Model::open_fd(fd);  // maps the file; open_borrowed takes bytes in memory
  if (!model) {
    std::fprintf(stderr, "own_buffers: %s: %s\n", path, model.error().message.c_str());
    return 1;
  }
  ::close(fd);
  auto context = model->create_context();
  if (!context) return fail(context.error());

  // Outputs need an address that is a multiple of 64; inputs one of their element's size.
  alignas(64) std::array<float, 10> probabilities = {};
  if (auto error = context->set_input("image", kSeven, {1, 1, 8, 8})) return fail(*error);
  if (auto error = context->bind_output<float>("probabilities", probabilities)) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  print(probabilities);

  // Unbound again: the context owns the output until the program takes it.
  if (auto error = context->bind_output<float>("probabilities", {})) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  const auto taken = context->take_output<float>("probabilities");
  if (!taken) return fail(taken.error());
  if (auto error = context->run()) return fail(*error);  // does not change what was taken
  print(taken->values());
}
