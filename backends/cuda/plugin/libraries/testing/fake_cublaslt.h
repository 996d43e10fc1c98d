// A library that looks like cuBLASLt. It computes products on the host, through a driver's copies,
// plainly from what its descriptors say.
#pragma once

#include "driver/driver_table.h"
#include "plugin/libraries/cublaslt_types.h"

namespace sluice::cuda::testing {

/// What a test tells the fake, and what it saw. One per process.
struct FakeCublasLt {
  const DriverTable* driver = nullptr;      ///< whose memory the matrices lie in
  LtStatus heuristic = LtStatus::kSuccess;  ///< of every search
  LtStatus matmul = LtStatus::kSuccess;     ///< of every product
  bool has_bias = true;                     ///< whether the search knows the bias
  std::size_t version = 130100;

  int num_products = 0;
  int num_handles = 0;               ///< open ones
  int num_descriptors = 0;           ///< open ones
  std::int32_t multiprocessors = 0;  ///< of the last product
  LtCompute compute = {};
};

/// The type of the function `sluice_fake_cublaslt` of the library.
using GetFakeCublasLt = FakeCublasLt* (*)();

}  // namespace sluice::cuda::testing
