// The fields of a struct (terms/field.h) in those of a C struct that have their names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

#include "terms/field.h"

namespace sluice::api {

/// Takes options: 0 leaves the default; where 0 is another choice, a negative number stands for it.
template <typename Given, typename Options>
void take_fields(const Given& from, Options& to) {
  Options::visit_fields([&](const terms::Field& field, auto of) {
    const std::int64_t number = of(from);
    const bool has_other_zero = terms::number_of(of(to)).value_or(-1) != 0 && field.least == 0;
    if (number != 0) {
      terms::set_number(of(to), has_other_zero ? std::max<std::int64_t>(number, 0) : number);
    }
  });
}

/// Texts stay those of `from`.
template <typename Struct, typename Copy>
void copy_fields(const Struct& from, Copy& to) {
  Struct::visit_fields([&](const terms::Field&, auto of) {
    if constexpr (std::is_same_v<decltype(of(from)), const std::string&>) {
      of(to) = of(from).c_str();
    } else {
      of(to) = of(from);
    }
  });
}

}  // namespace sluice::api
