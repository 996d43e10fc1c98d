// numpy arrays over memory of the library, by numpy's C interface: half the time of nanobind's way,
// which makes an object with the buffer protocol and calls numpy.array.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

namespace sluice::python {

/// numpy's number of one of its own element types by ONNX's; -1 if numpy lacks the type.
int numpy_type(std::int32_t element_type);

/// A writable array of `type` over `data`, row-major, which `owner` keeps alive.
nanobind::object make_numpy_array(void* data, int type, std::span<const std::int64_t> dims,
                                  nanobind::object owner);

}  // namespace sluice::python
