// numpy exports its C interface as a table of pointers, `_ARRAY_API`, whose positions it keeps
// since version 1.0 (numpy/_core/code_generators/numpy_api.py). The table is used without numpy's
// headers: those tie an extension to the numpy that it was built with.
#include "numpy_arrays.h"

#include <array>
#include <cstddef>

namespace nb = nanobind;

namespace sluice::python {
namespace {

using New = PyObject* (*)(PyTypeObject*, int, const std::ptrdiff_t* dims, int type,
                          const std::ptrdiff_t* strides, void* data, int item_size, int flags,
                          PyObject*);
using SetBaseObject = int (*)(PyObject* array, PyObject* owner);  // takes the reference of `owner`

constexpr std::size_t kArrayType = 2;
constexpr std::size_t kNew = 93;
constexpr std::size_t kSetBaseObject = 282;
/// NPY_ARRAY_CARRAY: contiguous in C's order, aligned, writable.
constexpr int kRowMajor = 0x1 | 0x100 | 0x400;

void** import_table() {
  nb::object module;
  try {
    module = nb::module_::import_("numpy._core._multiarray_umath");
  } catch (const nb::python_error&) {  // numpy 1
    module = nb::module_::import_("numpy.core._multiarray_umath");
  }
  const nb::object table = module.attr("_ARRAY_API");
  auto* pointer = static_cast<void**>(PyCapsule_GetPointer(table.ptr(), nullptr));
  if (pointer == nullptr) nb::raise_python_error();
  return pointer;
}

/// Called with the GIL, as all of this file.
void** table() {
  static void** const pointer = import_table();
  return pointer;
}

/// NPY_TYPES of numpy/ndarraytypes.h by ONNX's element type, where `long` has 64 bits.
constexpr std::array<int, 16> kTypes = {-1, 11, 2, 1, 4, 3, 5, 7, -1, 0, 23, 12, 6, 8, 14, 15};
static_assert(sizeof(long) == 8);

}  // namespace

int numpy_type(std::int32_t element_type) {
  const auto index = static_cast<std::size_t>(element_type);
  return index < kTypes.size() ? kTypes[index] : -1;
}

nb::object make_numpy_array(void* data, int type, std::span<const std::int64_t> dims,
                            nb::object owner) {
  static_assert(sizeof(std::ptrdiff_t) == sizeof(std::int64_t));
  void** const functions = table();
  PyObject* array = reinterpret_cast<New>(functions[kNew])(
      static_cast<PyTypeObject*>(functions[kArrayType]), static_cast<int>(dims.size()), dims.data(),
      type, nullptr, data, 0, kRowMajor, nullptr);
  if (array == nullptr) nb::raise_python_error();
  nb::object result = nb::steal(array);
  if (reinterpret_cast<SetBaseObject>(functions[kSetBaseObject])(array, owner.release().ptr()) <
      0) {
    nb::raise_python_error();
  }
  return result;
}

}  // namespace sluice::python
