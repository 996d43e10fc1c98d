#include "exec/executors/step_work.h"

#include <algorithm>

namespace sluice::exec {
namespace {

constexpr double kMultiplyAddsPerNs = 60;
constexpr double kBytesPerNs = 40;  ///< from a cache
constexpr double kStartNs = 500;    ///< of any kernel
/// Reference kernels compute element by element in doubles: LpPool took 230 times as long as its
/// bytes, Acosh 83, NonZero 40.
constexpr double kGenericTimes = 100;

double elements(ir::OperandId id, const Facts& facts) {
  if (!id.is_valid()) return 0;
  const ir::Type& type = facts.type_of(id);
  const ir::Shape* shape = type.is_tensor() ? type.shape() : nullptr;
  return shape == nullptr ? 0 : static_cast<double>(ir::num_elements(*shape).value_or(0));
}

double bytes(ir::OperandId id, const Facts& facts) {
  if (!id.is_valid()) return 0;
  return static_cast<double>(ir::run_bytes(facts.type_of(id)).value_or(0));
}

/// Multiply-adds, if the second input is a matrix or filters that every result is a sum over: with
/// a weight of [out, in...] each of the `out` results at one place takes a row of it.
double multiply_adds(const ir::Operation& operation, const Facts& facts) {
  if (operation.inputs.size() < 2 || operation.outputs.empty()) return 0;
  const double results = elements(operation.output(0), facts);
  const auto dims = [&](std::size_t input) {
    const ir::OperandId id = operation.input(input);
    return id.is_valid() ? facts.type_of(id).static_dims() : std::nullopt;
  };
  if (operation.kind.find("Conv") != std::string::npos) {
    const auto weight = dims(1);
    if (!weight || weight->empty()) return 0;
    const double count = elements(operation.input(1), facts);
    return results * count / static_cast<double>(std::max<std::int64_t>(weight->front(), 1));
  }
  if (operation.kind.find("MatMul") != std::string::npos || operation.kind == "Gemm") {
    const auto left = dims(0);
    if (!left || left->empty()) return 0;
    return results * static_cast<double>(left->back());
  }
  if (operation.kind == "LSTM" || operation.kind == "GRU" || operation.kind == "RNN") {
    const auto sequence = dims(0);
    if (!sequence || sequence->size() < 2) return 0;
    const auto rows = static_cast<double>(sequence->at(0) * sequence->at(1));
    return rows * (elements(operation.input(1), facts) + elements(operation.input(2), facts));
  }
  return 0;
}

}  // namespace

double estimate_work(const ir::Operation& operation, const Facts& facts, bool is_generic) {
  double moved = 0;
  for (const ir::OperandId id : operation.inputs) moved += bytes(id, facts);
  for (const ir::OperandId id : operation.outputs) moved += bytes(id, facts);
  const double work_ns =
      std::max(multiply_adds(operation, facts) / kMultiplyAddsPerNs, moved / kBytesPerNs);
  return kStartNs + work_ns * (is_generic ? kGenericTimes : 1);
}

}  // namespace sluice::exec
