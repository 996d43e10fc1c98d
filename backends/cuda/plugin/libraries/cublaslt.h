// cuBLASLt's functions as pointers, filled from the library where it is installed.
#pragma once

#include <string>

#include "plugin/libraries/cublaslt_types.h"
#include "plugin/libraries/library_file.h"

namespace sluice::cuda {

/// One pointer per row of SLUICE_CUBLASLT_ENTRIES, all set or all null. Safe across threads.
struct CublasLt {
#define SLUICE_CUDA_ROW(member, name, result, arguments) result(*member) arguments = nullptr;
  SLUICE_CUBLASLT_ENTRIES(SLUICE_CUDA_ROW)
#undef SLUICE_CUDA_ROW
};

/// Opens the file that `named` or the variable SLUICE_CUDA_CUBLASLT names, or else the first of
/// libcublasLt.so.13 and libcublasLt.so.12 that is found.
/// Fails: UNAVAILABLE  there is none, it lacks a function, or it is older than 12.0
Status open_cublaslt(const std::string& named, CublasLt* table);

/// "cuBLASLt 13.1.0 (/usr/local/cuda/lib64/libcublasLt.so.13)".
std::string name_of(const CublasLt& table);

/// The status of a call: the library's name and its words for the result.
Status check(const CublasLt& table, LtStatus status, const char* what);

}  // namespace sluice::cuda
