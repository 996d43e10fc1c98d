// Paths of the system as arguments: bytes that need not be UTF-8.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>

namespace sluice::python {

/// Its bytes, as os.fsencode gives them; without a zero, where C ends a text.
struct Path {
  std::string bytes;
};

}  // namespace sluice::python

namespace nanobind::detail {

template <>
struct type_caster<sluice::python::Path> {
  NB_TYPE_CASTER(sluice::python::Path, const_name("str"))

  bool from_python(handle source, std::uint32_t /*flags*/, cleanup_list* /*cleanup*/) noexcept {
    if (!PyUnicode_Check(source.ptr())) return false;
    const object encoded = steal(PyUnicode_EncodeFSDefault(source.ptr()));
    char* bytes = nullptr;
    // Without a place for the size, a zero among the bytes is an error. So is a surrogate that
    // stands for no byte.
    if (!encoded.is_valid() || PyBytes_AsStringAndSize(encoded.ptr(), &bytes, nullptr) != 0) {
      PyErr_Clear();
      return false;
    }
    value.bytes = bytes;
    return true;
  }
};

}  // namespace nanobind::detail
