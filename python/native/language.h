// Tokenizers and generators, as sluice/generate.h has them.
#pragma once

#include <nanobind/nanobind.h>

namespace sluice::python {

/// Adds Tokenizer and Generator to the module, after NativeModel's.
void bind_language(nanobind::module_& module);

}  // namespace sluice::python
