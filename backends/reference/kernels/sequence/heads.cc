#include "reference/kernels/sequence/heads.h"

#include <tuple>

#include "reference/kernels/sequence/attention.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
std::vector<double> swap_middle(const std::vector<double>& x, std::int64_t batch,
                                std::int64_t outer, std::int64_t inner, std::int64_t size) {
  std::vector<double> y(x.size());
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t j = 0; j < inner; ++j) {
        const std::int64_t from = ((b * outer + i) * inner + j) * size;
        const std::int64_t to = ((b * inner + j) * outer + i) * size;
        for (std::int64_t d = 0; d < size; ++d) y[index(to + d)] = x[index(from + d)];
      }
    }
  }
  return y;
}

Status read_heads(const Call& call, int input, const char* attribute, Heads* heads) {
  const Dims dims = input_dims(call, input);
  heads->values = read_doubles(call.input(input));
  if (heads->values.size() != index(size_of(dims)))
    return refuse_model(call, "unknown element type");
  if (dims.size() == 4) {
    std::tie(heads->batch, heads->heads, heads->length, heads->size) =
        std::tuple(dims[0], dims[1], dims[2], dims[3]);
    return plugin::ok();
  }
  const std::int64_t count = call.attributes().get_int(attribute);
  if (dims.size() != 3 || count < 1 || dims[2] % count != 0) {
    return refuse(call, plugin::to_string(dims) + " cannot be split into heads");
  }
  *heads = {dims[0], count, dims[1], dims[2] / count, std::move(heads->values)};
  heads->values =
      swap_middle(heads->values, heads->batch, heads->length, heads->heads, heads->size);
  return plugin::ok();
}

Status append_past(const Call& call, int input, Heads* heads) {
  if (!call.has_input(input)) return plugin::ok();
  const Dims past = input_dims(call, input);
  const std::vector<double> values = read_doubles(call.input(input));
  if (past.size() != 4 || past[0] != heads->batch || past[1] != heads->heads ||
      past[3] != heads->size || values.size() != index(size_of(past))) {
    return refuse(call, "past " + plugin::to_string(past) + " does not fit");
  }
  heads->values = concat_middle(values, heads->values, heads->batch * heads->heads,
                                past[2] * heads->size, heads->length * heads->size);
  heads->length += past[2];
  return plugin::ok();
}

}  // namespace sluice::reference
