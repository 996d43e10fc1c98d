#include "plugin/extents.h"

#include <limits>
#include <string>

#include "reference/kernels.h"

namespace sluice::cpu {
namespace {

/// More than any operand has.
constexpr std::int64_t kTooMany = std::numeric_limits<std::int64_t>::max();

/// kTooMany where it overflows or a factor is negative.
std::int64_t product_of(Extents::Factors factors) {
  std::int64_t product = 1;
  bool is_zero = false;
  bool is_outside = false;
  for (const std::int64_t factor : factors) {
    is_zero = is_zero || factor == 0;
    is_outside = is_outside || factor < 0;
    if (!is_zero) is_outside = __builtin_mul_overflow(product, factor, &product) || is_outside;
  }
  return is_outside ? kTooMany : is_zero ? 0 : product;
}

}  // namespace

std::int64_t Extents::size_of_input(int input) const {
  const bool is_own = input < op_.num_inputs;
  const int at = is_own ? input : input - op_.num_inputs;
  if (!is_own && at >= op_.num_body_inputs) return 0;
  const sluice_tensor& tensor = is_own ? op_.inputs[at].tensor : op_.body_inputs[at].tensor;
  return plugin::is_absent(tensor) ? 0 : tensor.size_bytes;
}

void Extents::reads(int input, Factors bytes) { reads_between(input, 0, product_of(bytes)); }

void Extents::reads_between(int input, std::int64_t begin, std::int64_t end) {
  const std::int64_t given = size_of_input(input);
  if (begin >= 0 && end <= given) return;
  refuse("reads", "input", input, begin < 0 ? begin : end, given);
}

void Extents::writes(int output, Factors bytes) {
  const bool is_there = output < op_.num_outputs && !plugin::is_absent(op_.outputs[output].tensor);
  const std::int64_t given = is_there ? op_.outputs[output].tensor.size_bytes : 0;
  const std::int64_t written = product_of(bytes);
  if (written != given) refuse("writes", "output", output, written, given);
}

void Extents::refuse(const char* verb, const char* what, int index, std::int64_t bytes,
                     std::int64_t given) {
  if (!status_.is_ok()) return;
  const std::string number = bytes == kTooMany ? "more than 2^63" : std::to_string(bytes);
  status_ = reference::refuse(
      op_, "its kernel " + std::string(verb) + " to byte " + number + " of " + what + " " +
               std::to_string(index) + ", which has " + std::to_string(given) +
               ": an attribute or a declared shape contradicts the shapes of the operands");
}

Reach reach_of(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides) {
  Reach reach = {0, 1};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] <= 0) return {};
    std::int64_t last = 0;
    std::int64_t& side = strides[d] < 0 ? reach.lowest : reach.end;
    if (__builtin_mul_overflow(dims[d] - 1, strides[d], &last) ||
        __builtin_add_overflow(side, last, &side)) {
      return {-1, kTooMany};
    }
  }
  return reach;
}

}  // namespace sluice::cpu
