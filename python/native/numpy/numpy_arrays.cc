// numpy exports its C interface as a table of pointers, `_ARRAY_API`, whose positions it keeps
// since version 1.0 (numpy/_core/code_generators/numpy_api.py). The table is used without numpy's
// headers: those tie an extension to the numpy that it was built with.
#include "numpy/numpy_arrays.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace nb = nanobind;

namespace sluice::python {
namespace {

using New = PyObject* (*)(PyTypeObject*, int, const std::ptrdiff_t* dims, int type,
                          const std::ptrdiff_t* strides, void* data, int item_size, int flags,
                          PyObject*);
using SetBaseObject = int (*)(PyObject* array, PyObject* owner);  // takes the reference of `owner`

/// The start of PyArrayObject and of PyArray_Descr, which numpy's macros read in the code of
/// extensions: the same in numpy 1 and 2.
struct ArrayFields {
  PyObject head;
  char* data;
  int rank;
  std::ptrdiff_t* dims;
  std::ptrdiff_t* strides;
  PyObject* base;
  PyObject* descr;
  int flags;
};
struct DescrFields {
  PyObject head;
  PyTypeObject* scalar_type;
  char kind;
  char type;
  char byte_order;
  char former_flags;
  int type_number;
};

constexpr int kRowMajorFlag = 0x1;  // NPY_ARRAY_C_CONTIGUOUS
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

/// ONNX's number and the bytes of one element by NPY_TYPES; 0 if ONNX has no such type.
struct ElementType {
  std::int32_t number = 0;
  std::int32_t size_bytes = 0;
};
constexpr std::array<ElementType, 24> kElementTypes = {
    {{9, 1},  {3, 1}, {2, 1},  {5, 2}, {4, 2},  {6, 4}, {12, 4}, {7, 8},
     {13, 8}, {7, 8}, {13, 8}, {1, 4}, {11, 8}, {0, 0}, {14, 8}, {15, 16},
     {0, 0},  {0, 0}, {0, 0},  {0, 0}, {0, 0},  {0, 0}, {0, 0},  {10, 2}}};
static_assert(sizeof(long long) == 8);

}  // namespace

int numpy_type(std::int32_t element_type) {
  const auto index = static_cast<std::size_t>(element_type);
  return index < kTypes.size() ? kTypes[index] : -1;
}

std::optional<NumpyView> view_numpy_array(nb::handle value) {
  if (Py_TYPE(value.ptr()) != static_cast<PyTypeObject*>(table()[kArrayType])) return std::nullopt;
  const auto& array = *reinterpret_cast<const ArrayFields*>(value.ptr());
  const auto& descr = *reinterpret_cast<const DescrFields*>(array.descr);
  const auto type = static_cast<std::size_t>(descr.type_number);
  if ((array.flags & kRowMajorFlag) == 0 || descr.byte_order == '>' ||
      type >= kElementTypes.size() || kElementTypes[type].number == 0) {
    return std::nullopt;
  }
  NumpyView view = {array.data,
                    {array.dims, static_cast<std::size_t>(array.rank)},
                    kElementTypes[type].size_bytes,
                    kElementTypes[type].number};
  for (const std::int64_t dim : view.dims) view.size_bytes *= dim;
  return view;
}

nb::object copy_to_numpy(const void* data, std::int64_t size_bytes, int type,
                         std::span<const std::int64_t> dims) {
  void** const functions = table();
  PyObject* array = reinterpret_cast<New>(functions[kNew])(
      static_cast<PyTypeObject*>(functions[kArrayType]), static_cast<int>(dims.size()), dims.data(),
      type, nullptr, nullptr, 0, 0, nullptr);
  if (array == nullptr) nb::raise_python_error();
  std::memcpy(reinterpret_cast<ArrayFields*>(array)->data, data,
              static_cast<std::size_t>(size_bytes));
  return nb::steal(array);
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
