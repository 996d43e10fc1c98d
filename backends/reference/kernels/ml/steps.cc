// FindKey, SquaredDistances, CouplePairs.
#include <algorithm>
#include <string>

#include "reference/families.h"
#include "reference/kernels/ml/key_table.h"
#include "reference/kernels/support.h"
#include "reference/tensors.h"

namespace sluice::reference {
namespace {

// ---- FindKey ------------------------------------------------------------------------------------

/// Below so many elements looking along the keys takes less time than sorting them into a table.
constexpr std::size_t kFewElements = 4;

std::string shown(std::string_view text) { return "\"" + std::string(text) + "\""; }
template <typename T>
std::string shown(T number) {
  return std::to_string(number);
}

template <typename T>
Status find_keys(const Call& call) {
  using Key = Compute<T>;
  const auto x = call.input_elements<T>(0);
  const auto keys = call.input_elements<T>(1);
  const auto places = call.output_elements<std::int64_t>(0);
  if (places.size() != x.size()) return refuse(call, "the output has another size than X");
  if (x.size() <= kFewElements) {
    for (std::size_t i = 0; i < x.size(); ++i) places[i] = find_last<T>(keys, x[i]);
  } else {
    const KeyTable<T> table(keys);
    for (std::size_t i = 0; i < x.size(); ++i) places[i] = table.find(x[i]);
  }
  if (call.attributes().get_int("must_find") == 0) return plugin::ok();
  // `find` gives the number of keys for what is no key.
  const auto missing = std::ranges::find(places, std::ssize(keys));
  if (missing == places.end()) return plugin::ok();
  const Key value = x[static_cast<std::size_t>(missing - places.begin())];
  return refuse(call, "X has " + shown(value) + ", which is not among the " +
                          std::to_string(keys.size()) + " categories");
}

Status run_find_key(const Call& call) {
  return dispatch(kKeyTypes, call.input(0).element_type,
                  [&]<typename T>() { return find_keys<T>(call); });
}

Status check_find_key(const sluice_op& op) {
  if (Status status = check_type(op, 0, kKeyTypes); !status.is_ok()) return status;
  if (op.inputs[0].tensor.element_type == op.inputs[1].tensor.element_type) return plugin::ok();
  return refuse(op, "X and keys have different element types");
}

// ---- SquaredDistances ---------------------------------------------------------------------------

template <typename T>
Status measure(const Call& call) {
  const Dims a_dims = input_dims(call, 0);
  const Dims b_dims = input_dims(call, 1);
  if (a_dims.size() != 2 || b_dims.size() != 2 || a_dims[1] != b_dims[1]) {
    return refuse(call, "the rows of A and B have no distance");
  }
  const std::int64_t expected[] = {a_dims[0], b_dims[0]};
  if (Status status = expect_dims(call, 0, expected); !status.is_ok()) return status;
  const Loaded<T> a(call.input(0));
  const Loaded<T> b(call.input(1));
  const std::size_t columns = index(a_dims[1]);
  std::vector<Compute<T>> results;
  results.reserve(index(a_dims[0] * b_dims[0]));
  for (std::size_t i = 0; i < index(a_dims[0]); ++i) {
    const auto row = a.values().subspan(i * columns, columns);
    for (std::size_t j = 0; j < index(b_dims[0]); ++j) {
      const auto other = b.values().subspan(j * columns, columns);
      double sum = 0;
      for (std::size_t k = 0; k < columns; ++k) {
        const double difference = static_cast<double>(row[k]) - static_cast<double>(other[k]);
        sum += difference * difference;
      }
      results.push_back(static_cast<Compute<T>>(sum));
    }
  }
  store<T>(call.output(0), results);
  return plugin::ok();
}

Status run_distances(const Call& call) {
  return dispatch(kFloats, call.input(0).element_type,
                  [&]<typename T>() { return measure<T>(call); });
}

Status check_distances(const sluice_op& op) {
  if (Status status = check_type(op, 0, kFloats); !status.is_ok()) return status;
  if (op.inputs[0].tensor.element_type == op.inputs[1].tensor.element_type) return plugin::ok();
  return refuse(op, "A and B have different element types");
}

}  // namespace

std::vector<KernelEntry> ml_step_kernels() {
  return {{.domain = "sluice",
           .kind = "FindKey",
           .run = run_find_key,
           .check = check_find_key,
           .num_required_inputs = 2,
           .output_types = {plugin::kI64}},
          {.domain = "sluice",
           .kind = "SquaredDistances",
           .run = run_distances,
           .check = check_distances,
           .num_required_inputs = 2,
           .output_types = {kTypeOfInput0}}};
}

}  // namespace sluice::reference
