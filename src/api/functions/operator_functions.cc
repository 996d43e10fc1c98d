// The functions of sluice/operators.h.
#include "api/last_error.h"
#include "operators/module.h"
#include "operators/registered_operator.h"
#include "sluice/operators.h"

int32_t sluice_operator_register(const sluice_operator* op) {
  return sluice::api::guard([&]() -> sluice::Status {
    if (op == nullptr) return sluice::api::null_argument("operator");
    return sluice::operators::register_operator(*op).with_context("operator");
  });
}

size_t sluice_num_operators(void) { return sluice::operators::num_registered_operators(); }

const sluice_operator* sluice_operator_at(size_t index) {
  return sluice::operators::registered_operator(index);
}

int32_t sluice_operator_allow(const char* sha256) {
  return sluice::api::guard([&]() -> sluice::Status {
    if (sha256 == nullptr) return sluice::api::null_argument("sha256");
    return sluice::operators::allow_module(sha256);
  });
}
