// Sluice as a library, in C++: a header-only layer over `sluice/sluice.h`.
//
//   auto model = sluice::Model::open("digits.sluice");
//   if (!model) return fail(model.error());
//   auto context = model->create_context();
//   context->set_input<float>("image", pixels, {1, 1, 8, 8});
//   if (auto error = context->run()) return fail(*error);
//   for (float p : context->output<float>("probabilities")->values) ...
//
// Errors are values. Models may be shared between threads; a context belongs to one at a time.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/sluice.h"

namespace sluice {

/// Why something failed: a gRPC status code and a text for people.
struct Error {
  std::int32_t code = 0;
  std::string message;
};

/// A value or an Error.
template <typename T>
class Expected {
 public:
  Expected(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Expected(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return std::holds_alternative<T>(content_); }
  T& operator*() { return std::get<T>(content_); }
  const T& operator*() const { return std::get<T>(content_); }
  T* operator->() { return &std::get<T>(content_); }
  const T* operator->() const { return &std::get<T>(content_); }
  const Error& error() const { return std::get<Error>(content_); }

 private:
  std::variant<T, Error> content_;
};

/// ONNX's number for a C++ element type.
template <typename T>
constexpr std::int32_t element_type_of() {
  if constexpr (std::is_same_v<T, float>)
    return 1;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return 2;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return 3;
  else if constexpr (std::is_same_v<T, std::uint16_t>)
    return 4;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return 5;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return 6;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return 7;
  else if constexpr (std::is_same_v<T, bool>)
    return 9;
  else if constexpr (std::is_same_v<T, double>)
    return 11;
  else if constexpr (std::is_same_v<T, std::uint32_t>)
    return 12;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    return 13;
  else
    static_assert(sizeof(T) == 0, "no tensor element type");
}

/// A result in the context's memory, valid until it runs again.
template <typename T>
struct Output {
  std::span<const T> values;
  std::vector<std::int64_t> dims;
};

namespace detail {
inline std::optional<Error> check(std::int32_t code) {
  if (code == SLUICE_STATUS_OK) return std::nullopt;
  return Error{code, sluice_last_error()};
}
template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* handle) const { Free(handle); }
};
}  // namespace detail

/// One run at a time of a model. Movable.
class Context {
 public:
  /// Reads `values` at each run, until the next call for this input: they must stay alive.
  template <typename T>
  std::optional<Error> set_input(const std::string& name, std::span<const T> values,
                                 std::span<const std::int64_t> dims) {
    const sluice_array array = {
        const_cast<T*>(values.data()), static_cast<std::int64_t>(values.size_bytes()),
        element_type_of<T>(), static_cast<std::int32_t>(dims.size()), dims.data()};
    return detail::check(sluice_context_set_input(handle_.get(), name.c_str(), &array));
  }
  template <typename T>
  std::optional<Error> set_input(const std::string& name, const std::vector<T>& values,
                                 std::initializer_list<std::int64_t> dims) {
    return set_input<T>(name, std::span<const T>(values), std::span(dims.begin(), dims.size()));
  }

  /// Runs write this output into `memory` from now on.
  template <typename T>
  std::optional<Error> bind_output(const std::string& name, std::span<T> memory) {
    return detail::check(
        sluice_context_bind_output(handle_.get(), name.c_str(), memory.data(),
                                   static_cast<std::int64_t>(memory.size_bytes())));
  }

  /// nullopt on success.
  std::optional<Error> run() { return detail::check(sluice_context_run(handle_.get())); }

  /// Result of the last run; an error for an unknown name or another element type.
  template <typename T>
  Expected<Output<T>> output(const std::string& name) {
    sluice_array array = {};
    const auto error = detail::check(sluice_context_output(handle_.get(), name.c_str(), &array));
    if (error) return *error;
    if (array.element_type != element_type_of<T>()) {
      return Error{3, "output \"" + name + "\" has element type number " +
                          std::to_string(array.element_type)};
    }
    const auto count = static_cast<std::size_t>(array.size_bytes) / sizeof(T);
    return Output<T>{{static_cast<const T*>(array.data), count},
                     {array.dims, array.dims + array.rank}};
  }

 private:
  friend class Model;
  explicit Context(sluice_context* handle) : handle_(handle) {}
  std::unique_ptr<sluice_context, detail::Deleter<sluice_context, sluice_context_free>> handle_;
};

/// A compiled model, opened. Movable; usable from any thread.
class Model {
 public:
  static Expected<Model> open(const std::string& path, std::int32_t num_threads = 0) {
    sluice_open_options options = {};
    options.struct_size = sizeof(options);
    options.num_threads = num_threads;
    sluice_model* handle = nullptr;
    if (auto error = detail::check(sluice_model_open(path.c_str(), &options, &handle))) {
      return *error;
    }
    return Model(handle);
  }

  Expected<Context> create_context() const {
    sluice_context* handle = nullptr;
    if (auto error = detail::check(sluice_context_create(handle_.get(), &handle))) return *error;
    return Context(handle);
  }

  std::size_t num_inputs() const { return sluice_model_num_inputs(handle_.get()); }
  std::size_t num_outputs() const { return sluice_model_num_outputs(handle_.get()); }
  /// Requires: index < num_inputs().
  const sluice_tensor_spec& input(std::size_t index) const {
    return *sluice_model_input(handle_.get(), index);
  }
  /// Requires: index < num_outputs().
  const sluice_tensor_spec& output(std::size_t index) const {
    return *sluice_model_output(handle_.get(), index);
  }

 private:
  explicit Model(sluice_model* handle) : handle_(handle) {}
  std::unique_ptr<sluice_model, detail::Deleter<sluice_model, sluice_model_close>> handle_;
};

}  // namespace sluice
