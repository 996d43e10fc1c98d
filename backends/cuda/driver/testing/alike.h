// Whether declarations of ours fit those of a vendor.
#pragma once

#include <array>
#include <type_traits>

namespace sluice::cuda {

template <typename Ours, typename Theirs>
constexpr bool same_number(Ours ours, Theirs theirs) {
  return static_cast<long>(ours) == static_cast<long>(theirs);
}

/// How a value is passed: pointers are alike, numbers have a size, floats other registers.
template <typename T>
constexpr int passed_as() {
  if constexpr (std::is_pointer_v<T>) return -1;
  if constexpr (std::is_void_v<T>)
    return 0;
  else
    return static_cast<int>(sizeof(T)) * (std::is_floating_point_v<T> ? 100 : 1);
}

template <typename Function>
struct Call;
template <typename R, typename... Arguments>
struct Call<R (*)(Arguments...)> {
  static constexpr std::array<int, sizeof...(Arguments) + 1> kShape = {passed_as<R>(),
                                                                       passed_as<Arguments>()...};
};

template <typename Ours, typename Theirs>
constexpr bool are_alike() {
  if constexpr (sizeof(Call<Ours>::kShape) != sizeof(Call<Theirs>::kShape))
    return false;
  else
    return Call<Ours>::kShape == Call<Theirs>::kShape;
}

}  // namespace sluice::cuda
