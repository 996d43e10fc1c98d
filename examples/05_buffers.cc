// Memory of the program: the package, the input and the output lie in buffers that it owns, and
// nothing is copied. A second output is taken out of the context and outlives it.
//
//   05_buffers digits.sluice
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "seven.h"
#include "sluice/sluice.hpp"

static int fail(const sluice::Error& error) {
  std::fprintf(stderr, "05_buffers: %s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "digits.sluice";
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  auto model = sluice::Model::open_fd(fd);  // maps the file; open_borrowed takes bytes in memory
  if (!model) {
    std::fprintf(stderr, "05_buffers: %s: %s\n", path, model.error().message.c_str());
    return 1;
  }
  ::close(fd);
  auto context = model->create_context();
  if (!context) return fail(context.error());

  // Outputs need an address that is a multiple of 64; inputs one of their element's size.
  alignas(64) std::array<float, 10> probabilities = {};
  const std::array<std::int64_t, 4> dims = {1, 1, 8, 8};
  if (auto error = context->set_input<float>("image", kSeven, dims)) return fail(*error);
  if (auto error = context->bind_output<float>("probabilities", probabilities)) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  print_digit(probabilities.data());

  // Unbound again: the context owns the output until the program takes it.
  if (auto error = context->bind_output<float>("probabilities", {})) return fail(*error);
  if (auto error = context->run()) return fail(*error);
  const auto taken = context->take_output<float>("probabilities");
  if (!taken) return fail(taken.error());
  if (auto error = context->run()) return fail(*error);  // does not change what was taken
  print_digit(taken->values().data());
}
