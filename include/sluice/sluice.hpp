// Sluice as a library, in C++: a header-only layer over `sluice/sluice.h`.
//
//   auto model = sluice::Model::open("digits.sluice");
//   if (!model) return fail(model.error());
//   auto context = model->create_context();
//   if (auto error = context->set_input<float>("image", pixels, {1, 1, 8, 8})) return fail(*error);
//   if (auto error = context->run()) return fail(*error);
//   for (float p : context->output<float>("probabilities")->values) ...
//
// Errors are values; no function throws. Any thread may use a model; one thread at a time uses a
// context. A context keeps its model alive. Calls of an object that was moved from fail with
// INVALID_ARGUMENT. `sluice/status.h` lists the codes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/element_types.hpp"
#include "sluice/sluice.h"

namespace sluice {

/// A failure: a code and a text for people.
struct Error {
  Code code = Code::kOk;
  std::string message;
};

namespace detail {
/// Ends the program, as it takes a value for granted that is not there.
[[noreturn]] inline void end_without_value(const Error& error) {
  std::fprintf(stderr, "sluice: the program used the value of a call that failed: %s\n",
               error.message.c_str());
  std::abort();
}
}  // namespace detail

/// A value or an Error. Test it before `*` and `->`: on an Error they print its message and end the
/// program. Requires: `error()` on an Error only.
template <typename T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : content_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Expected(Error error) : content_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const { return std::holds_alternative<T>(content_); }
  T& operator*() & { return *value(); }
  const T& operator*() const& { return *value(); }
  T&& operator*() && { return std::move(*value()); }
  T* operator->() { return value(); }
  const T* operator->() const { return value(); }
  const Error& error() const { return std::get<Error>(content_); }

 private:
  const T* value() const {
    const T* value = std::get_if<T>(&content_);
    if (value == nullptr) detail::end_without_value(*std::get_if<Error>(&content_));
    return value;
  }
  T* value() { return const_cast<T*>(std::as_const(*this).value()); }

  std::variant<T, Error> content_;
};

/// An output in row-major order, in memory of its context; valid until the context runs again.
template <typename T>
struct Output {
  std::span<const T> values;
  std::vector<std::int64_t> dims;
};

namespace detail {
[[nodiscard]] inline std::optional<Error> check(sluice_code code) {
  if (code == SLUICE_OK) return std::nullopt;
  return Error{Code(code), sluice_last_error()};
}
template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* handle) const { Free(handle); }
};
}  // namespace detail

/// Hears an event of libsluice; as sluice_log_callback. `level` is one of SLUICE_LOG_.
using LogCallback = std::function<void(int level, std::string_view event)>;

/// Sets the log callback of the process; an empty one disables logging. Events above the level
/// `max_level` are dropped. When it returns, no thread is in the former callback. Exceptions of a
/// callback are dropped. Fails: FAILED_PRECONDITION in a callback, or while another thread sets
/// the log.
[[nodiscard]] inline std::optional<Error> set_log(LogCallback callback,
                                                  int max_level = SLUICE_LOG_INFO) {
  static std::mutex mutex;
  static std::unique_ptr<LogCallback> current;
  // Not waited for: its owner may wait for a callback that is here.
  const std::unique_lock lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return Error{Code::kFailedPrecondition, "another thread sets the log"};
  auto next = callback ? std::make_unique<LogCallback>(std::move(callback)) : nullptr;
  sluice_log_callback call = nullptr;
  if (next) {
    call = [](void* user_data, std::int32_t level, const char* event) {
      (*static_cast<LogCallback*>(user_data))(level, event);
    };
  }
  auto error = detail::check(sluice_set_log(call, next.get(), max_level));
  if (!error) current = std::move(next);
  return error;
}

/// An output that its context gave away. Movable; valid while it lives, whatever the context does.
template <typename T>
class OwnedOutput {
 public:
  explicit OwnedOutput(sluice_output* handle) : handle_(handle) {}
  /// Empty for an output that was moved from.
  std::span<const T> values() const {
    const sluice_array* array = sluice_output_array(handle_.get());
    if (array == nullptr) return {};
    return {static_cast<const T*>(array->data),
            static_cast<std::size_t>(array->size_bytes) / sizeof(T)};
  }
  std::span<const std::int64_t> dims() const {
    const sluice_array* array = sluice_output_array(handle_.get());
    if (array == nullptr) return {};
    return {array->dims, static_cast<std::size_t>(array->rank)};
  }

 private:
  std::unique_ptr<sluice_output, detail::Deleter<sluice_output, sluice_output_free>> handle_;
};

/// State for one run of a model at a time. Movable. Use it from one thread at a time.
class Context {
 public:
  /// Sets an input of shape `dims`. The context borrows `values`: they must stay alive while runs
  /// read them, until the next call for this input. Returns an error for an unknown name or a
  /// mismatch of type or shape.
  template <typename T>
  [[nodiscard]] std::optional<Error> set_input(const std::string& name, std::span<const T> values,
                                               std::span<const std::int64_t> dims) {
    const sluice_array array = {
        const_cast<T*>(values.data()), static_cast<std::int64_t>(values.size_bytes()),
        element_type_of<T>(), static_cast<std::int32_t>(dims.size()), dims.data()};
    return detail::check(sluice_context_set_input(handle_.get(), name.c_str(), &array));
  }
  template <typename T>
  [[nodiscard]] std::optional<Error> set_input(const std::string& name,
                                               const std::vector<T>& values,
                                               std::initializer_list<std::int64_t> dims) {
    return set_input<T>(name, std::span<const T>(values), std::span(dims.begin(), dims.size()));
  }
  template <typename T>
  [[nodiscard]] std::optional<Error> set_input(const std::string& name, std::span<const T> values,
                                               std::initializer_list<std::int64_t> dims) {
    return set_input<T>(name, values, std::span(dims.begin(), dims.size()));
  }
  /// A temporary would be gone before the run.
  template <typename T>
  std::optional<Error> set_input(const std::string& name, std::vector<T>&& values,
                                 std::initializer_list<std::int64_t> dims) = delete;

  /// The input has its default value again. Fails: INVALID_ARGUMENT for an input without one.
  [[nodiscard]] std::optional<Error> reset_input(const std::string& name) {
    return detail::check(sluice_context_set_input(handle_.get(), name.c_str(), nullptr));
  }

  /// Makes runs write this output to `memory`, which the context borrows. It may be the memory of
  /// an input, as for a state that each run changes.
  template <typename T>
  [[nodiscard]] std::optional<Error> bind_output(const std::string& name, std::span<T> memory) {
    return detail::check(
        sluice_context_bind_output(handle_.get(), name.c_str(), memory.data(),
                                   static_cast<std::int64_t>(memory.size_bytes())));
  }

  /// Lends the context the memory to which the inputs and outputs of states are bound, so that the
  /// states may stay on a device between runs. `output` brings a value to the memory; `set_input`
  /// takes a new one from there. `states`: names. See sluice_context_keep_states.
  [[nodiscard]] std::optional<Error> keep_states(
      const std::vector<std::pair<std::string, std::string>>& states) {
    std::vector<const char*> inputs, outputs;
    for (const auto& [input, output] : states) {
      inputs.push_back(input.c_str());
      outputs.push_back(output.c_str());
    }
    return detail::check(
        sluice_context_keep_states(handle_.get(), inputs.data(), outputs.data(), states.size()));
  }
  /// Bytes of kept states that lie on devices now.
  std::int64_t kept_bytes() const { return sluice_context_kept_bytes(handle_.get()); }

  /// As sluice_context_set_device_input: a tensor in memory of the device that runs the model.
  [[nodiscard]] std::optional<Error> set_device_input(const std::string& name,
                                                      const sluice_array& array,
                                                      const std::string& backend,
                                                      std::int32_t device = 0) {
    return detail::check(sluice_context_set_device_input(handle_.get(), name.c_str(), &array,
                                                         backend.c_str(), device));
  }
  /// As sluice_context_bind_device_output. Null returns to memory of the context.
  [[nodiscard]] std::optional<Error> bind_device_output(const std::string& name, void* data,
                                                        std::int64_t capacity_bytes,
                                                        const std::string& backend,
                                                        std::int32_t device = 0) {
    return detail::check(sluice_context_bind_device_output(
        handle_.get(), name.c_str(), data, capacity_bytes, backend.c_str(), device));
  }

  /// Bytes of inputs and outputs that runs have copied.
  std::int64_t copied_bytes() const { return sluice_context_copied_bytes(handle_.get()); }
  std::int64_t recorded_bytes() const { return sluice_context_recorded_bytes(handle_.get()); }

  /// Runs the model and blocks until the outputs are complete. nullopt on success.
  [[nodiscard]] std::optional<Error> run() {
    return detail::check(sluice_context_run(handle_.get()));
  }

  /// As above; ends with DEADLINE_EXCEEDED after `timeout`, before its next segment, iteration
  /// of a loop, or operation whose shape depends on data.
  [[nodiscard]] std::optional<Error> run(std::chrono::nanoseconds timeout) {
    sluice_run_options options = {};
    options.struct_size = sizeof(options);
    options.timeout_ns = timeout.count();
    return detail::check(sluice_context_run_with(handle_.get(), &options));
  }

  /// Ends the run of another thread in the same places, with CANCELLED. Any thread may call it.
  /// Fails: FAILED_PRECONDITION if no run is under way.
  [[nodiscard]] std::optional<Error> cancel() const {
    return detail::check(sluice_context_cancel(handle_.get()));
  }

  /// An output of the last run. Returns an error for an unknown name, another element type, or
  /// before the first run.
  template <typename T>
  Expected<Output<T>> output(const std::string& name) {
    sluice_array array = {};
    const auto error = detail::check(sluice_context_output(handle_.get(), name.c_str(), &array));
    if (error) return *error;
    return typed<T>(array, name);
  }

  /// Takes an output of the last run out of the context, without a copy. Fails as `output` does,
  /// and for an output that is bound or was taken.
  template <typename T>
  Expected<OwnedOutput<T>> take_output(const std::string& name) {
    if (auto seen = output<T>(name); !seen) return seen.error();
    sluice_output* handle = nullptr;
    if (auto error =
            detail::check(sluice_context_take_output(handle_.get(), name.c_str(), &handle))) {
      return *error;
    }
    return OwnedOutput<T>(handle);
  }

  /// Sets an input of strings, which are copied.
  [[nodiscard]] std::optional<Error> set_input_strings(const std::string& name,
                                                       std::span<const std::string> values,
                                                       std::span<const std::int64_t> dims) {
    std::vector<char>& encoded = strings_[name];
    std::vector<std::int64_t> offsets = {0};
    for (const std::string& value : values) {
      offsets.push_back(offsets.back() + static_cast<std::int64_t>(value.size()));
    }
    const auto* first = reinterpret_cast<const char*>(offsets.data());
    encoded.assign(first, first + offsets.size() * sizeof(std::int64_t));
    for (const std::string& value : values)
      encoded.insert(encoded.end(), value.begin(), value.end());
    constexpr std::int32_t kString = 8;
    const sluice_array array = {encoded.data(), static_cast<std::int64_t>(encoded.size()), kString,
                                static_cast<std::int32_t>(dims.size()), dims.data()};
    return detail::check(sluice_context_set_input(handle_.get(), name.c_str(), &array));
  }

  /// Sets a sequence or an optional to copies of `elements`.
  [[nodiscard]] std::optional<Error> set_input_elements(const std::string& name,
                                                        std::span<const sluice_array> elements) {
    return detail::check(sluice_context_set_input_elements(handle_.get(), name.c_str(),
                                                           elements.data(), elements.size()));
  }

  /// Number of elements of an output: a sequence, or an optional of 0 or 1.
  Expected<std::size_t> output_length(const std::string& name) {
    std::size_t length = 0;
    const auto error =
        detail::check(sluice_context_output_length(handle_.get(), name.c_str(), &length));
    if (error) return *error;
    return length;
  }

  /// One element of an output of the last run; fails as `output` does.
  template <typename T>
  Expected<Output<T>> output_element(const std::string& name, std::size_t index) {
    sluice_array array = {};
    const auto error =
        detail::check(sluice_context_output_element(handle_.get(), name.c_str(), index, &array));
    if (error) return *error;
    return typed<T>(array, name);
  }

 private:
  friend class Model;
  explicit Context(sluice_context* handle) : handle_(handle) {}

  template <typename T>
  static Expected<Output<T>> typed(const sluice_array& array, const std::string& name) {
    if (array.element_type != element_type_of<T>()) {
      return Error{Code::kInvalidArgument, "output \"" + name + "\" has element type number " +
                                               std::to_string(array.element_type)};
    }
    const auto count = static_cast<std::size_t>(array.size_bytes) / sizeof(T);
    return Output<T>{{static_cast<const T*>(array.data), count},
                     {array.dims, array.dims + array.rank}};
  }

  std::map<std::string, std::vector<char>> strings_;  // what the inputs of strings borrow
  std::unique_ptr<sluice_context, detail::Deleter<sluice_context, sluice_context_free>> handle_;
};

/// How a run walks the graph; sluice.h says what they do.
enum class Executor : std::int32_t {
  kAsCompiled = 0,
  kLinear = SLUICE_EXECUTOR_LINEAR,
  kDataflow = SLUICE_EXECUTOR_DATAFLOW,
  kParallel = SLUICE_EXECUTOR_PARALLEL,
};

/// How a model is loaded. `sluice_open_options` says what each field does; defaults are its zeros.
struct OpenOptions {
  std::int32_t num_threads = 0;          ///< number of cores; 0: all that the process may use
  std::vector<std::int32_t> cores = {};  ///< core numbers, which runs keep to; empty: any
  Executor executor = Executor::kAsCompiled;
  std::string backend_dir = {};
  std::int64_t max_loop_iterations = 0;
  std::int64_t max_recorded_bytes = 0;
  std::optional<std::uint64_t> seed = std::nullopt;  ///< nullopt: from a number of the system
};

/// A loaded model. Movable; usable from any thread. Each way to open one takes OpenOptions, or only
/// their `num_threads`.
class Model {
 public:
  /// Opens the `.sluice` file at `path`.
  static Expected<Model> open(const std::string& path, std::int32_t num_threads = 0) {
    return open(path, with_threads(num_threads));
  }
  static Expected<Model> open(const std::string& path, const OpenOptions& options) {
    const sluice_open_options given = in_c(options);
    sluice_model* handle = nullptr;
    return opened(sluice_model_open(path.c_str(), &given, &handle), handle);
  }
  /// Opens a copy of the bytes of a `.sluice` file.
  static Expected<Model> open_copy(std::span<const std::byte> bytes, std::int32_t num_threads = 0) {
    return open_copy(bytes, with_threads(num_threads));
  }
  static Expected<Model> open_copy(std::span<const std::byte> bytes, const OpenOptions& options) {
    return open_bytes(bytes, SLUICE_BYTES_COPY, options);
  }
  /// Opens the bytes of a `.sluice` file in place. They are aligned to 64 bytes and outlive the
  /// model and its contexts.
  static Expected<Model> open_borrowed(std::span<const std::byte> bytes,
                                       std::int32_t num_threads = 0) {
    return open_borrowed(bytes, with_threads(num_threads));
  }
  static Expected<Model> open_borrowed(std::span<const std::byte> bytes,
                                       const OpenOptions& options) {
    return open_bytes(bytes, SLUICE_BYTES_BORROW, options);
  }
  /// Opens the file of a descriptor, which stays the caller's.
  static Expected<Model> open_fd(int fd, std::int32_t num_threads = 0) {
    return open_fd(fd, with_threads(num_threads));
  }
  static Expected<Model> open_fd(int fd, const OpenOptions& options) {
    const sluice_open_options given = in_c(options);
    sluice_model* handle = nullptr;
    return opened(sluice_model_open_fd(fd, &given, &handle), handle);
  }

  /// Random operators of the runs that start from now on start from `seed`.
  [[nodiscard]] std::optional<Error> set_seed(std::uint64_t seed) {
    return detail::check(sluice_model_set_seed(handle_.get(), seed));
  }

  /// Creates a context; contexts of one model run in parallel.
  Expected<Context> create_context() const {
    sluice_context* handle = nullptr;
    if (auto error = detail::check(sluice_context_create(handle_.get(), &handle))) return *error;
    return Context(handle);
  }

  /// Facts about the model and its source.
  std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> facts;
    for (std::size_t i = 0; i < sluice_model_num_metadata(handle_.get()); ++i) {
      const char* key = nullptr;
      const char* value = nullptr;
      if (sluice_model_metadata_at(handle_.get(), i, &key, &value) == SLUICE_OK) {
        facts.emplace(key, value);
      }
    }
    return facts;
  }

  /// The handle of sluice/sluice.h, which stays the model's.
  sluice_model* get() const { return handle_.get(); }

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
  static OpenOptions with_threads(std::int32_t num_threads) {
    OpenOptions options;
    options.num_threads = num_threads;
    return options;
  }
  /// Refers to the memory of `options`.
  static sluice_open_options in_c(const OpenOptions& options) {
    sluice_open_options given = {};
    given.struct_size = sizeof(given);
    given.num_threads = options.num_threads;
    given.cores = options.cores.data();
    given.num_cores = static_cast<std::int32_t>(options.cores.size());
    given.executor = static_cast<std::int32_t>(options.executor);
    given.backend_dir = options.backend_dir.empty() ? nullptr : options.backend_dir.c_str();
    given.max_loop_iterations = options.max_loop_iterations;
    given.max_recorded_bytes = options.max_recorded_bytes;
    given.has_seed = options.seed ? 1 : 0;
    given.seed = options.seed.value_or(0);
    return given;
  }
  /// `handle` is a reference because the call that gives `code` sets it, and arguments have no
  /// order.
  static Expected<Model> opened(sluice_code code, sluice_model* const& handle) {
    if (auto error = detail::check(code)) return *error;
    return Model(handle);
  }
  static Expected<Model> open_bytes(std::span<const std::byte> bytes, std::int32_t ownership,
                                    const OpenOptions& options) {
    const sluice_open_options given = in_c(options);
    sluice_model* handle = nullptr;
    return opened(sluice_model_open_bytes(bytes.data(), bytes.size(), ownership, &given, &handle),
                  handle);
  }
  std::unique_ptr<sluice_model, detail::Deleter<sluice_model, sluice_model_close>> handle_;
};

}  // namespace sluice
