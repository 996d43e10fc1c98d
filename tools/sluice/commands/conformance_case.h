// One folder of ONNX test data: model.onnx, and test_data_set_*/ with input_*.pb and output_*.pb.
#pragma once

#include <filesystem>
#include <string>

#include "exec/loaded_model.h"
#include "sluice/model/model_source.h"
#include "sluice/tensors/compare.h"

namespace sluice::tool {

struct Outcome {
  enum class Kind { kPassed, kFailed, kSkipped };
  Kind kind = Kind::kPassed;
  std::string text;  ///< why it failed or was skipped
};

struct CaseOptions {
  ModelOptions model;  ///< its path is the case's
  Tolerances tolerances = default_tolerances();
  std::int64_t max_loop_iterations = exec::LoadOptions().max_loop_iterations;
  exec::ExecutorKind executor = exec::ExecutorKind::kAsCompiled;
  int num_threads = 1;
  bool takes_any_values = false;  ///< run_case_against asks only whether both run or both refuse
};

/// Runs every data set of the case and compares with its outputs. What the compiler does not know
/// is skipped, as are values of operators that draw random numbers.
Outcome run_case(const std::filesystem::path& folder, const CaseOptions& options);

/// Runs every data set on `options.model.backends` and on `backend`: both give the same outputs, or
/// both refuse. The expected outputs of the case are not read.
Outcome run_case_against(const std::filesystem::path& folder, const CaseOptions& options,
                         const std::string& backend);

}  // namespace sluice::tool
