// Queues and sessions in C++, over `sluice/session.h`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/runtime.hpp"
#include "sluice/session.h"

namespace sluice {

/// Rings of pointers to the caller's memory, one per input and output of a loaded model. Move-only;
/// closes the queues at its end.
class Queues {
 public:
  /// Called once for every entry: its memory is the caller's again. It must not block.
  using OnDone = std::function<void(RuntimeCode runtime_code, std::int64_t size_bytes)>;

  /// `capacity` 0: twice the model's depth.
  static Expected<Queues> open(const Runtime& runtime, const LoadedModel& model,
                               std::int32_t capacity = 0) {
    sluice_queue_options options = {};
    options.struct_size = sizeof(options);
    options.capacity = capacity;
    std::uint64_t id = 0;
    if (auto error =
            detail::check(sluice_runtime_open_queues(runtime.get(), model.id(), &options, &id))) {
      return *error;
    }
    return Queues(runtime, id);
  }
  Queues(Queues&& other) noexcept
      : runtime_(std::move(other.runtime_)), id_(std::exchange(other.id_, 0)) {}
  Queues& operator=(Queues&&) = delete;
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  ~Queues() { (void)close(); }

  /// Adds memory to the queue of a tensor, borrowed until `on_done`. A full queue waits at most
  /// `timeout`: 0 does not wait, a negative one waits without limit.
  template <typename T, std::size_t Extent>
  [[nodiscard]] std::optional<Error> enqueue(const std::string& name, std::span<T, Extent> memory,
                                             OnDone on_done = {},
                                             Nanoseconds timeout = Nanoseconds(0)) {
    auto function = on_done ? std::make_unique<OnDone>(std::move(on_done)) : nullptr;
    auto error = detail::check(sluice_runtime_enqueue(
        runtime_.get(), id_, name.c_str(), const_cast<std::remove_const_t<T>*>(memory.data()),
        static_cast<std::int64_t>(memory.size_bytes()), function ? &call : nullptr, function.get(),
        timeout.count()));
    if (!error) (void)function.release();  // `call` frees it
    return error;
  }

  /// Returns waiting entries with RuntimeCode::kCancelled; every callback has returned at the end.
  [[nodiscard]] std::optional<Error> close() {
    if (id_ == 0) return std::nullopt;
    return detail::check(sluice_runtime_close_queues(runtime_.get(), std::exchange(id_, 0)));
  }

 private:
  Queues(Runtime runtime, std::uint64_t id) : runtime_(std::move(runtime)), id_(id) {}
  static void call(void* user_data, sluice_runtime_code runtime_code, std::int64_t size_bytes) {
    const std::unique_ptr<OnDone> function(static_cast<OnDone*>(user_data));
    (*function)(RuntimeCode(runtime_code), size_bytes);
  }

  Runtime runtime_;
  std::uint64_t id_;
};

/// A tensor of a session.
struct ProgramTensor {
  std::string name;
  std::string type;
  std::int32_t role = SLUICE_TENSOR_INPUT;
  std::int32_t program = SLUICE_PROGRAM_MAIN;
};

struct SessionOptions {
  std::int32_t num_threads = 0;
  std::string backend_dir = {};
  std::string stored_folder = {};                               ///< NAME.npy files
  std::function<bool(const ProgramTensor&)> binds_stored = {};  ///< empty: all
  std::optional<std::uint64_t> seed = {};                       ///< of random operators
};

/// A package with its programs load, main and save. Movable. Use it from one thread at a time.
class Session {
 public:
  /// Fills or reads a tensor during the call; an Error fails the program, with its code and text.
  using TensorFunction = std::function<std::optional<Error>(const sluice_array& array)>;

  static Expected<Session> create(const std::string& path, const SessionOptions& options = {}) {
    sluice_session_options c = {};
    c.struct_size = sizeof(c);
    c.num_threads = options.num_threads;
    c.has_seed = options.seed ? 1 : 0;
    c.seed = options.seed.value_or(0);
    if (!options.backend_dir.empty()) c.backend_dir = options.backend_dir.c_str();
    if (!options.stored_folder.empty()) c.stored_folder = options.stored_folder.c_str();
    if (options.binds_stored) {  // called during create only
      c.binds_stored = [](void* user_data, const sluice_program_tensor* tensor) {
        const auto& wanted = *static_cast<const SessionOptions*>(user_data);
        return wanted.binds_stored(info_of(*tensor)) ? 1 : 0;
      };
      c.user_data = const_cast<SessionOptions*>(&options);
    }
    sluice_session* handle = nullptr;
    if (auto error = detail::check(sluice_session_create(path.c_str(), &c, &handle))) {
      return *error;
    }
    return Session(handle);
  }

  /// Named constants, then inputs, then outputs.
  std::vector<ProgramTensor> tensors() const {
    std::vector<ProgramTensor> all;
    for (std::size_t i = 0; i < sluice_session_num_tensors(handle_.get()); ++i) {
      all.push_back(info_of(*sluice_session_tensor(handle_.get(), i)));
    }
    return all;
  }

  /// Memory that every run reads, borrowed by the session.
  template <typename T>
  [[nodiscard]] std::optional<Error> bind_source(const std::string& name, std::span<const T> values,
                                                 const std::vector<std::int64_t>& dims) {
    const sluice_array array = {
        const_cast<T*>(values.data()), static_cast<std::int64_t>(values.size_bytes()),
        element_type_of<T>(), static_cast<std::int32_t>(dims.size()), dims.data()};
    return detail::check(sluice_session_bind_source(handle_.get(), name.c_str(), &array));
  }
  [[nodiscard]] std::optional<Error> bind_provider(const std::string& name,
                                                   TensorFunction function) {
    return detail::check(sluice_session_bind_provider(handle_.get(), name.c_str(), &call,
                                                      keep(std::move(function))));
  }
  /// Memory that every run writes, borrowed by the session.
  template <typename T>
  [[nodiscard]] std::optional<Error> bind_sink(const std::string& name, std::span<T> memory) {
    return detail::check(sluice_session_bind_sink(handle_.get(), name.c_str(), memory.data(),
                                                  static_cast<std::int64_t>(memory.size_bytes())));
  }
  [[nodiscard]] std::optional<Error> bind_consumer(const std::string& name,
                                                   TensorFunction function) {
    return detail::check(sluice_session_bind_consumer(handle_.get(), name.c_str(), &call,
                                                      keep(std::move(function))));
  }

  [[nodiscard]] std::optional<Error> verify(std::int32_t program) const {
    return detail::check(sluice_session_verify(handle_.get(), program));
  }
  [[nodiscard]] std::optional<Error> load() { return run(SLUICE_PROGRAM_LOAD); }
  [[nodiscard]] std::optional<Error> run_main() { return run(SLUICE_PROGRAM_MAIN); }
  [[nodiscard]] std::optional<Error> save() { return run(SLUICE_PROGRAM_SAVE); }

 private:
  explicit Session(sluice_session* handle) : handle_(handle) {}
  static ProgramTensor info_of(const sluice_program_tensor& tensor) {
    return {tensor.name, tensor.type, tensor.role, tensor.program};
  }
  /// A function and the text of its last error, which the status of C has no room for.
  struct Bound {
    TensorFunction function;
    std::string failure;
  };

  [[nodiscard]] std::optional<Error> run(std::int32_t program) {
    for (const auto& bound : functions_) bound->failure.clear();
    auto error = detail::check(sluice_session_run(handle_.get(), program));
    if (!error) return error;
    for (const auto& bound : functions_) {
      if (!bound->failure.empty()) error->message += ": " + bound->failure;
    }
    return error;
  }
  void* keep(TensorFunction function) {
    functions_.push_back(std::make_unique<Bound>(Bound{std::move(function), {}}));
    return functions_.back().get();
  }
  static sluice_code call(void* user_data, const sluice_array* array) {
    auto& bound = *static_cast<Bound*>(user_data);
    auto error = bound.function(*array);
    if (!error) return SLUICE_OK;
    bound.failure = std::move(error->message);
    return static_cast<sluice_code>(error->code);
  }

  std::vector<std::unique_ptr<Bound>> functions_;  ///< outlive the handle
  std::unique_ptr<sluice_session, detail::Deleter<sluice_session, sluice_session_free>> handle_;
};

}  // namespace sluice
