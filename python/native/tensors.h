// Tensors between Python and the C interface. Element types that numpy lacks, and strings, travel
// as (bytes, element type, shape); sluice/dtypes.py converts them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <sluice/sluice.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "numpy/numpy_arrays.h"

namespace sluice::python {

namespace nb = nanobind;

using ReadArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using WriteArray = nb::ndarray<nb::c_contig, nb::device::cpu>;

/// An input in memory of a Python object, which `array` keeps alive, or a sequence of such.
struct InputTensor {
  ReadArray array;
  std::int32_t element_type = 0;
  bool is_encoded = false;
  std::vector<std::int64_t> dims;  ///< of an encoded tensor; others have the array's
  bool is_sequence = false;
  std::vector<InputTensor> elements;  ///< of a sequence or an optional
  std::uint64_t exchange = 0;         ///< index in a daemon's exchange, in place of an array
  bool is_absent = false;             ///< the input's default

  /// Valid while this lives and is not moved.
  sluice_array view() const;
};

/// Memory aligned to 64 bytes.
struct AlignedDelete {
  void operator()(std::byte* data) const;
};
using AlignedMemory = std::unique_ptr<std::byte, AlignedDelete>;
AlignedMemory allocate(std::int64_t size_bytes);

/// An output on its way to Python.
struct OutputTensor {
  AlignedMemory memory;  ///< null if the caller gave the memory
  std::int64_t size_bytes = 0;
  std::int32_t element_type = 0;
  std::vector<std::int64_t> dims;
  bool is_sequence = false;
  std::vector<OutputTensor> elements;  ///< of a sequence or an optional
};

inline constexpr std::int32_t kByteElements = 2;  ///< u8

/// ONNX's number of a numpy element type; 0 if numpy has no such type.
std::int32_t element_type_of(nb::dlpack::dtype type);
/// Bits of one element of a type that numpy has; 0 otherwise.
int numpy_bits(std::int32_t element_type);

/// Reads an array of a numpy type, a tuple (bytes, element type, shape), or a list of such. False
/// for anything else.
bool read_input(nb::handle value, InputTensor& input);

/// The arguments of a call as they lie in memory: numpy arrays of the element types of `inputs`, in
/// order. Nullopt if one needs conversion.
template <typename Specs>
std::optional<std::vector<InputTensor>> read_arguments(nb::handle arguments, const Specs& inputs) {
  if (PyTuple_Size(arguments.ptr()) != static_cast<Py_ssize_t>(inputs.size())) return std::nullopt;
  std::vector<InputTensor> tensors(inputs.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const nb::handle value = PyTuple_GetItem(arguments.ptr(), static_cast<Py_ssize_t>(i));
    const auto view = view_numpy_array(value);
    if (!view || view->element_type != inputs[i].element_type) return std::nullopt;
    if (!read_input(value, tensors[i])) return std::nullopt;
  }
  return tensors;
}

/// What a call returns: the output, or a tuple of several.
nb::object result_of(const nb::list& outputs);

/// `out`: None, or a list of an array to write to or None per output.
std::vector<WriteArray> read_out(const nb::object& out, std::size_t num_outputs);

/// A numpy array, a tuple (bytes, element type, shape), or a list of such, that owns the memory.
nb::object to_python(OutputTensor output);
/// The same of memory that `owner` keeps alive.
nb::object to_python(const sluice_array& array, nb::object owner);

/// A tuple (name, type, element type, shape or None, batch axis, whether it has a default). A
/// negative rank means no shape.
nb::tuple describe_spec(const std::string& name, const std::string& type, std::int32_t element_type,
                        std::int32_t rank, const std::vector<std::int64_t>& dims,
                        std::int32_t batch_axis, bool has_default);

}  // namespace sluice::python
