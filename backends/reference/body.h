// Fused element-wise bodies, run step by step through temporaries: slow, and the oracle.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "reference/kernels.h"

namespace sluice::reference {

/// Ok if every step is an element-wise kernel of ours that takes the types it would meet, all
/// shapes broadcast to output 0's, and the result has its element type. Requires: `op.body` is not
/// null.
Status check_body(const sluice_op& op);

/// A body ready to run; immutable.
class BodyProgram {
 public:
  /// As `check_body`. `op` outlives the program; its dimensions may be -1 if it is never run.
  static Status make(const sluice_op& op, BodyProgram* program);

  /// `inputs` are registers [0, num_inputs) with data; `output` may be one of them.
  Status run(std::span<const sluice_tensor> inputs, const sluice_tensor& output) const;

 private:
  struct Step {
    const KernelEntry* entry = nullptr;
    std::vector<sluice_operand> operands;  // inputs, then the result
    std::vector<std::int64_t> dims;        // of the result
    std::vector<std::int32_t> inputs;      // registers, -1 for none
    sluice_op op = {};                     // refers to `operands`
  };

  void add_first_registers(const sluice_op& op);
  Status add_step(const sluice_op& op, const sluice_body_step& step);
  Status read_registers(const sluice_body_step& from, Step& step) const;
  Status check_register(const sluice_op& op, std::size_t index) const;
  static Status run_step(const Step& step, std::span<const sluice_tensor> registers,
                         const sluice_tensor& result);

  std::vector<sluice_tensor> registers_;  // without data but for constants
  std::vector<std::unique_ptr<Step>> steps_;
  std::size_t num_inputs_ = 0;
  std::size_t result_ = 0;
};

}  // namespace sluice::reference
