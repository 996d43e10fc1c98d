// The functions of sluice/operators.h.
#include "api/last_error.h"
#include "api/operators/registered_operator.h"

int32_t sluice_operator_register(const sluice_operator* op) {
  return sluice::api::guard([&]() -> sluice::Status {
    if (op == nullptr) return sluice::api::null_argument("operator");
    return sluice::api::register_operator(*op).with_context("operator");
  });
}

size_t sluice_num_operators(void) { return sluice::api::num_registered_operators(); }

const sluice_operator* sluice_operator_at(size_t index) {
  return sluice::api::registered_operator(index);
}
