// numpy arrays over memory of the library, by numpy's C interface: half the time of nanobind's way,
// which makes an object with the buffer protocol and calls numpy.array.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>

namespace sluice::python {

/// numpy's number of one of its own element types by ONNX's; -1 if numpy lacks the type.
int numpy_type(std::int32_t element_type);

/// What a numpy array says of itself; valid while the caller holds the GIL and the array.
struct NumpyView {
  void* data = nullptr;
  std::span<const std::int64_t> dims;
  std::int64_t size_bytes = 0;
  std::int32_t element_type = 0;  ///< ONNX's number
};

/// Reads an object of the class numpy.ndarray itself, row-major, of one of numpy's own element
/// types in the processor's byte order; nullopt for anything else.
std::optional<NumpyView> view_numpy_array(nanobind::handle value);

/// A new array with a copy of `size_bytes` of `data`, in memory of numpy's own.
nanobind::object copy_to_numpy(const void* data, std::int64_t size_bytes, int type,
                               std::span<const std::int64_t> dims);

/// A writable array of `type` over `data`, row-major, which `owner` keeps alive.
nanobind::object make_numpy_array(void* data, int type, std::span<const std::int64_t> dims,
                                  nanobind::object owner);

}  // namespace sluice::python
