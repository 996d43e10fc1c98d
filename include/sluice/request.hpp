// Requests in C++: loaded models, their requests and replies, over `sluice/request.h`.
//
//   auto request = model->submit({sluice::tensor<float>("x", x, {4})});
//   ...
//   auto reply = request->wait();
//
// Include `sluice/runtime.hpp`.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/request.h"
#include "sluice/runtime.hpp"

namespace sluice {

/// An input of a request. Borrows its values until the reply. An empty name means its position.
struct InputTensor {
  std::string name = {};
  void* data = nullptr;
  std::int64_t size_bytes = 0;
  std::int32_t element_type = 0;
  std::vector<std::int64_t> dims = {};
  std::uint64_t exchange = 0;  ///< in a daemon's exchange, in place of values here
};

/// An input that lies in the exchange of the daemon. Requires: a name.
inline InputTensor exchanged(std::string name, std::uint64_t exchange) {
  InputTensor input;
  input.name = std::move(name);
  input.exchange = exchange;
  return input;
}

/// An input of elements of type T.
template <typename T, typename Values>
InputTensor tensor(std::string name, const Values& values, std::vector<std::int64_t> dims) {
  const std::span<const T> span(values);
  return {std::move(name), const_cast<T*>(span.data()),
          static_cast<std::int64_t>(span.size_bytes()), element_type_of<T>(), std::move(dims)};
}

/// Memory for an output, borrowed until the reply.
struct OutputBuffer {
  std::string name = {};
  std::span<std::byte> memory = {};
};

/// Memory that a daemon maps, too, as sluice_runtime_share says. Move-only; no request may use it
/// at its end.
class SharedMemory {
 public:
  /// Elements from a place on. Requires: a multiple of 64, and `count` elements after it.
  template <typename T>
  std::span<T> part(std::size_t offset_bytes, std::size_t count) const {
    return {reinterpret_cast<T*>(static_cast<std::byte*>(memory_->data) + offset_bytes), count};
  }
  std::size_t size_bytes() const {
    return memory_ == nullptr ? 0 : static_cast<std::size_t>(memory_->size_bytes);
  }

 private:
  friend class Runtime;
  explicit SharedMemory(const sluice_shared_memory* memory) : memory_(memory) {}
  detail::Snapshot<sluice_shared_memory> memory_;
};

class Reply;

struct RequestOptions {
  std::int32_t priority = 0;
  Nanoseconds timeout{0};  ///< 0: none
  bool wants_detail = false;
  std::vector<OutputBuffer> outputs = {};
  std::vector<std::string> kept = {};  ///< outputs that stay in the daemon's exchange
  Nanoseconds ttl{0};                  ///< of those; 0: the daemon's default
  std::string traceparent = {};        ///< the caller's span, for a daemon's traces; empty: none
  std::string tracestate = {};         ///< the same
  /// For `submit`: the daemon keeps the request and its reply, as sluice_request_options says. Any
  /// connection of the session takes the reply from Runtime::posted.
  bool is_posted = false;
};

/// The outputs of a request, in memory of its own or the caller's. Movable.
class Reply {
 public:
  /// kOk, or kNumericError.
  RuntimeCode runtime_code() const { return RuntimeCode(sluice_reply_runtime_code(handle_.get())); }
  std::size_t num_outputs() const { return sluice_reply_num_outputs(handle_.get()); }
  /// Requires: index < num_outputs().
  std::string output_name(std::size_t index) const {
    return sluice_reply_output_name(handle_.get(), index);
  }
  /// An output; an empty name means the only one. Its memory lives as long as the reply.
  /// Fails: NOT_FOUND; INVALID_ARGUMENT for another element type.
  template <typename T>
  Expected<Output<T>> output(const std::string& name = {}) const {
    const auto array = this->array(name);
    if (!array) return array.error();
    if (array->element_type != element_type_of<T>()) {
      return Error{Code::kInvalidArgument, "output \"" + name + "\" has element type number " +
                                               std::to_string(array->element_type)};
    }
    const auto count = static_cast<std::size_t>(array->size_bytes) / sizeof(T);
    return Output<T>{{static_cast<const T*>(array->data), count},
                     {array->dims, array->dims + array->rank}};
  }
  /// As above, of any element type.
  Expected<sluice_array> array(const std::string& name = {}) const {
    sluice_array array = {};
    const char* c_name = name.empty() ? nullptr : name.c_str();
    if (auto error = detail::check(sluice_reply_output(handle_.get(), c_name, &array))) {
      return *error;
    }
    return array;
  }
  /// Index of an output that stays in the exchange; 0 for another one. Fails: NOT_FOUND.
  Expected<std::uint64_t> exchange(const std::string& name) const {
    std::uint64_t index = 0;
    if (auto error = detail::check(sluice_reply_exchange(handle_.get(), name.c_str(), &index))) {
      return *error;
    }
    return index;
  }
  /// Null unless the request wanted it.
  const sluice_reply_detail_info* detail() const { return sluice_reply_detail(handle_.get()); }

 private:
  friend class LoadedModel;
  friend class Request;
  friend class Runtime;
  explicit Reply(sluice_reply* handle) : handle_(handle) {}
  std::unique_ptr<sluice_reply, detail::Deleter<sluice_reply, sluice_reply_free>> handle_;
};

/// A submitted request. Move-only. Destroying it cancels the request and waits until the model does
/// not use its memory any more; a posted request goes on.
class Request {
 public:
  Request(Request&& other) noexcept
      : runtime_(std::move(other.runtime_)),
        id_(std::exchange(other.id_, 0)),
        is_posted_(other.is_posted_) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(id_, other.id_);
    std::swap(is_posted_, other.is_posted_);
    return *this;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  ~Request() {
    if (id_ == 0 || is_posted_) return;
    (void)cancel();
    sluice_reply* reply = nullptr;
    sluice_runtime_wait(detail::handle_of(runtime_), id_, -1, &reply);
    sluice_reply_free(reply);
  }

  /// 0 once the reply was taken.
  std::uint64_t id() const { return id_; }
  /// Blocks. Fails with the request's error, or after the reply was taken. A posted request fails
  /// with UNAVAILABLE, and may be asked again, where another caller comes to wait for it.
  Expected<Reply> wait() {
    auto reply = wait_ns(-1);
    if (reply) return std::move(*reply);
    return Error{Code::kUnavailable, sluice_last_error()};
  }
  /// Waits at most `timeout`; 0 polls. Empty if the request is still in flight.
  std::optional<Expected<Reply>> wait_for(Nanoseconds timeout) {
    return wait_ns(std::max<std::int64_t>(timeout.count(), 0));
  }
  /// The reply is still to be taken, and may be a result.
  [[nodiscard]] std::optional<Error> cancel() {
    return detail::check(sluice_runtime_cancel(detail::handle_of(runtime_), id_));
  }

 private:
  friend class LoadedModel;
  friend class Runtime;
  Request(detail::SharedRuntime runtime, std::uint64_t id, bool is_posted)
      : runtime_(std::move(runtime)), id_(id), is_posted_(is_posted) {}
  /// Empty if the request is still in flight.
  std::optional<Expected<Reply>> wait_ns(std::int64_t timeout_ns) {
    sluice_reply* reply = nullptr;
    const auto error =
        detail::check(sluice_runtime_wait(detail::handle_of(runtime_), id_, timeout_ns, &reply));
    if (error && sluice_last_error_runtime_code() == SLUICE_RUNTIME_CODE_PENDING)
      return std::nullopt;
    // A posted reply that did not come through is with the daemon yet, which knows a spent id.
    if (!error || !is_posted_) id_ = 0;
    if (error) return Expected<Reply>(*error);
    return Expected<Reply>(Reply(reply));
  }
  detail::SharedRuntime runtime_;
  std::uint64_t id_;
  bool is_posted_;
};

/// A model that a runtime loaded. Move-only; unloads the model at its end.
class LoadedModel {
 public:
  LoadedModel(LoadedModel&& other) noexcept
      : runtime_(std::move(other.runtime_)),
        id_(std::exchange(other.id_, 0)),
        is_owner_(other.is_owner_) {}
  LoadedModel& operator=(LoadedModel&& other) noexcept {
    std::swap(runtime_, other.runtime_);
    std::swap(id_, other.id_);
    std::swap(is_owner_, other.is_owner_);
    return *this;
  }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;
  ~LoadedModel() {
    if (id_ != 0 && is_owner_) (void)unload();
  }

  std::uint64_t id() const { return id_; }
  Expected<ModelInfo> info() const {
    const sluice_loaded_model* model = nullptr;
    if (auto error =
            detail::check(sluice_runtime_model(detail::handle_of(runtime_), id_, &model))) {
      return *error;
    }
    const detail::Snapshot<sluice_loaded_model> owner(model);
    return detail::info_of(*model);
  }

  [[nodiscard]] std::optional<Error> start() {
    return detail::check(sluice_runtime_start(detail::handle_of(runtime_), id_));
  }
  [[nodiscard]] std::optional<Error> stop(Nanoseconds drain = Nanoseconds(0)) {
    return detail::check(sluice_runtime_stop(detail::handle_of(runtime_), id_, drain.count()));
  }
  [[nodiscard]] std::optional<Error> reset() {
    return detail::check(sluice_runtime_reset(detail::handle_of(runtime_), id_));
  }
  [[nodiscard]] std::optional<Error> unload(Nanoseconds drain = Nanoseconds(0)) {
    return detail::check(
        sluice_runtime_unload(detail::handle_of(runtime_), std::exchange(id_, 0), drain.count()));
  }

  /// Runs a request and waits for its reply. Blocks.
  Expected<Reply> infer(const std::vector<InputTensor>& inputs,
                        const RequestOptions& options = {}) const {
    sluice_reply* reply = nullptr;
    const COptions c(inputs, options);
    if (auto error =
            detail::check(sluice_runtime_infer(detail::handle_of(runtime_), id_, c.inputs.data(),
                                               c.inputs.size(), &c.options, &reply))) {
      return *error;
    }
    return Reply(reply);
  }

  /// Submits a request, to wait for later.
  Expected<Request> submit(const std::vector<InputTensor>& inputs,
                           const RequestOptions& options = {}) const {
    std::uint64_t id = 0;
    const COptions c(inputs, options);
    if (auto error = detail::check(sluice_runtime_submit(
            detail::handle_of(runtime_), id_, c.inputs.data(), c.inputs.size(), &c.options, &id))) {
      return *error;
    }
    return Request(runtime_, id, options.is_posted);
  }

  /// Submits a request whose reply goes to `on_done`, once, on any thread. It must not block; an
  /// exception that leaves it is dropped. Not called after an error.
  [[nodiscard]] std::optional<Error> submit(const std::vector<InputTensor>& inputs,
                                            std::function<void(Expected<Reply>)> on_done,
                                            const RequestOptions& options = {}) const {
    using Function = std::function<void(Expected<Reply>)>;
    auto function = std::make_unique<Function>(std::move(on_done));
    COptions c(inputs, options);
    c.options.user_data = function.get();
    c.options.on_done = [](void* user_data, std::uint64_t, sluice_code code, sluice_reply* reply) {
      const std::unique_ptr<Function> owner(static_cast<Function*>(user_data));
      if (code != SLUICE_OK) {
        (*owner)(Error{Code(code), sluice_last_error()});
      } else {
        (*owner)(Reply(reply));
      }
    };
    std::uint64_t id = 0;
    auto error = detail::check(sluice_runtime_submit(
        detail::handle_of(runtime_), id_, c.inputs.data(), c.inputs.size(), &c.options, &id));
    if (!error) (void)function.release();  // on_done frees it
    return error;
  }

 private:
  friend class Runtime;
  LoadedModel(detail::SharedRuntime runtime, std::uint64_t id, bool is_owner)
      : runtime_(std::move(runtime)), id_(id), is_owner_(is_owner) {}

  /// The C structs of a request; borrow its arguments.
  struct COptions {
    COptions(const std::vector<InputTensor>& tensors, const RequestOptions& wanted) {
      for (const InputTensor& input : tensors) {
        if (input.exchange != 0) {
          exchanged.push_back({input.name.c_str(), input.exchange});
          continue;
        }
        inputs.push_back({input.name.empty() ? nullptr : input.name.c_str(),
                          {input.data, input.size_bytes, input.element_type,
                           static_cast<std::int32_t>(input.dims.size()), input.dims.data()}});
      }
      for (const OutputBuffer& output : wanted.outputs) {
        outputs.push_back({output.name.empty() ? nullptr : output.name.c_str(),
                           output.memory.data(), static_cast<std::int64_t>(output.memory.size())});
      }
      for (const std::string& name : wanted.kept) kept.push_back(name.c_str());
      options.struct_size = sizeof(options);
      options.priority = wanted.priority;
      options.timeout_ns = wanted.timeout.count();
      options.wants_detail = wanted.wants_detail ? 1 : 0;
      options.outputs = outputs.data();
      options.num_outputs = static_cast<std::int32_t>(outputs.size());
      options.exchanged = exchanged.data();
      options.num_exchanged = static_cast<std::int32_t>(exchanged.size());
      options.kept = kept.data();
      options.num_kept = static_cast<std::int32_t>(kept.size());
      options.ttl_ns = wanted.ttl.count();
      options.is_posted = wanted.is_posted ? 1 : 0;
      if (!wanted.traceparent.empty()) options.traceparent = wanted.traceparent.c_str();
      if (!wanted.tracestate.empty()) options.tracestate = wanted.tracestate.c_str();
    }
    std::vector<sluice_exchanged_input> exchanged;
    std::vector<const char*> kept;
    std::vector<sluice_named_array> inputs;
    std::vector<sluice_output_memory> outputs;
    sluice_request_options options = {};
  };

  detail::SharedRuntime runtime_;
  std::uint64_t id_;
  bool is_owner_;
};

inline Expected<LoadedModel> Runtime::load(const LoadOptions& options) const {
  sluice_load_options c = detail::c_options(options);
  const auto function = detail::c_options(options.function.value_or(FunctionOptions()));
  if (options.function) c.function = &function;
  std::uint64_t model = 0;
  if (auto error = detail::check(sluice_runtime_load(get(), &c, &model))) return *error;
  return LoadedModel(handle_, model, true);
}

inline Expected<LoadedModel> Runtime::deploy_graph(const GraphOptions& options) const {
  sluice_graph_options c = {};
  c.struct_size = sizeof(c);
  if (!options.path.empty()) c.path = options.path.c_str();
  if (!options.text.empty()) c.text = options.text.c_str();
  if (!options.name.empty()) c.name = options.name.c_str();
  std::uint64_t graph = 0;
  if (auto error = detail::check(sluice_runtime_deploy_graph(get(), &c, &graph))) return *error;
  return LoadedModel(handle_, graph, true);
}

inline Expected<LoadedModel> Runtime::combine(const std::vector<const LoadedModel*>& models,
                                              const CombineOptions& options) const {
  std::vector<std::uint64_t> ids;
  for (const LoadedModel* model : models) ids.push_back(model->id());
  sluice_combine_options c = {};
  c.struct_size = sizeof(c);
  c.is_round_robin = options.is_round_robin ? 1 : 0;
  c.queue_limit = options.queue_limit;
  c.has_batching = options.batch_rows ? 1 : 0;
  c.batch_rows = options.batch_rows.value_or(0);
  c.max_delay_ns = options.max_delay.count();
  c.timeout_ns = options.timeout.count();
  if (!options.name.empty()) c.name = options.name.c_str();
  std::uint64_t model = 0;
  if (auto error =
          detail::check(sluice_runtime_combine(get(), ids.data(), ids.size(), &c, &model))) {
    return *error;
  }
  return LoadedModel(handle_, model, true);
}

inline Request Runtime::posted(std::uint64_t id) const {
  return Request(handle_, id, /*is_posted=*/true);
}

inline Expected<std::uint64_t> Runtime::put_tensor(const InputTensor& tensor,
                                                   Nanoseconds ttl) const {
  const sluice_array array = {tensor.data, tensor.size_bytes, tensor.element_type,
                              static_cast<std::int32_t>(tensor.dims.size()), tensor.dims.data()};
  std::uint64_t exchange = 0;
  if (auto error =
          detail::check(sluice_runtime_put_tensor(get(), &array, ttl.count(), &exchange))) {
    return *error;
  }
  return exchange;
}

inline Expected<Reply> Runtime::get_tensor(std::uint64_t exchange) const {
  sluice_reply* reply = nullptr;
  if (auto error = detail::check(sluice_runtime_get_tensor(get(), exchange, &reply))) {
    return *error;
  }
  return Reply(reply);
}

inline std::optional<Error> Runtime::remove_tensor(std::uint64_t exchange) const {
  return detail::check(sluice_runtime_remove_tensor(get(), exchange));
}

inline Expected<std::optional<int>> Runtime::bring_tensor(std::uint64_t exchange,
                                                          int device) const {
  std::int32_t from = SLUICE_TENSOR_OF_HOST;
  if (auto error = detail::check(sluice_runtime_bring_tensor(get(), exchange, device, &from))) {
    return *error;
  }
  return from == SLUICE_TENSOR_OF_HOST ? std::optional<int>() : std::optional<int>(from);
}

inline Expected<TensorOffer> Runtime::offer_tensor(std::uint64_t exchange) const {
  const sluice_tensor_offer* offer = nullptr;
  if (auto error = detail::check(sluice_runtime_offer_tensor(get(), exchange, &offer))) {
    return *error;
  }
  const detail::Snapshot<sluice_tensor_offer> owner(offer);
  return TensorOffer{offer->exchange, offer->key};
}

inline Expected<std::uint64_t> Runtime::fetch_tensor(const std::string& from,
                                                     const TensorOffer& offer,
                                                     const FetchOptions& options) const {
  sluice_fetch_options c = {};
  c.struct_size = sizeof(c);
  c.from = from.c_str();
  c.exchange = offer.exchange;
  c.key = offer.key.c_str();
  c.ttl_ns = options.ttl.count();
  c.timeout_ns = options.timeout.count();
  std::uint64_t exchange = 0;
  if (auto error = detail::check(sluice_runtime_fetch_tensor(get(), &c, &exchange))) return *error;
  return exchange;
}

inline Expected<SharedMemory> Runtime::share(std::int64_t size_bytes) const {
  const sluice_shared_memory* memory = nullptr;
  if (auto error = detail::check(sluice_runtime_share(get(), size_bytes, &memory))) return *error;
  return SharedMemory(memory);
}

inline Expected<LoadedModel> Runtime::find_model(const std::string& name) const {
  std::uint64_t model = 0;
  if (auto error = detail::check(sluice_runtime_find_model(get(), name.c_str(), &model))) {
    return *error;
  }
  return LoadedModel(handle_, model, false);
}

}  // namespace sluice
