#include "compiler/program_operators.h"

#include "operators/registered_operator.h"

namespace sluice::compiler {

Status register_operators(const sluice_operator* const* operators, std::size_t num_operators) {
  if (num_operators > 0 && operators == nullptr) {
    return invalid_argument("operators is null, num_operators is {}", num_operators);
  }
  for (std::size_t i = 0; i < num_operators; ++i) {
    if (operators[i] == nullptr) return invalid_argument("operator {} is null", i);
    SLUICE_TRY(operators::register_operator(*operators[i], operators::OperatorOrigin::kLibrary)
                   .with_context(fmt::format("operator {}", i)));
  }
  return ok_status();
}

}  // namespace sluice::compiler
