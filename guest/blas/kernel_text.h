// Parts of the PTX of this library's kernels, and the fat binaries that they come in.
//
// The parts share registers: .pred %p<4>, .b16 %h<2>, .b32 %r<20>, .f32 %f<12>, .b64 %rd<32>.
#pragma once

#include <string>
#include <string_view>

#include "guest/blas/blas.h"

namespace sluice::guest::blas {

/// What a text of kernels begins with.
inline constexpr std::string_view kTextHeader = ".version 7.8\n.target sm_75\n.address_size 64\n";

/// Reads an element at the register `address` into the register `to`, as f32. Uses %h1 and %r14.
std::string load(Element element, const char* to, const char* address);

/// The label SUM and what follows it: an element of the result is
/// activation(alpha * %f1 + beta * (element at %rd3) + bias[%rd4]), and goes to %rd16; then the
/// label DONE and the kernel's end. The kernel has the parameters `alpha`, `beta`, `bias` (an
/// address; 0: zeros) and `activation`.
std::string end_of_kernel(Element result);

/// As nvcc lays it out: a header, then the head of the only entry, then its text.
std::string fatbin_of(std::string text);

}  // namespace sluice::guest::blas
