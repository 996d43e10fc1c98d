// A model for tests of what comes before and after a model.
#pragma once

#include <memory>
#include <string>

#include "dispatch/model_ref.h"

namespace sluice::open_inference::testing {

/// Inputs and outputs x: f32[N] and w: string[M]. Nobody submits to it.
class NoSink final : public runtime::RequestSink {
 public:
  NoSink() {
    for (const auto& [name, type] : {std::pair{"x", "f32[N]"}, {"w", "string[M]"}}) {
      signature_.inputs.push_back({name, ir::parse_type(type).value(), -1});
      signature_.outputs.push_back({name, ir::parse_type(type).value(), -1});
    }
  }
  const terms::Signature& signature() const override { return signature_; }
  int depth() const override { return 1; }
  Clock& clock() const override { return system_clock(); }
  Result<std::uint64_t> submit(runtime::Request& /*request*/) override {
    return invalid_argument("nobody submits");
  }
  bool cancel(std::uint64_t /*id*/) override { return false; }
  bool wait(const std::function<bool()>& /*is_done*/, std::int64_t /*deadline_ns*/) override {
    return false;
  }
  void tell_waiters() override {}

 private:
  terms::Signature signature_;
};

inline const dispatch::ModelRef& no_model() {
  static const dispatch::ModelRef model(std::make_shared<NoSink>(), {}, false);
  return model;
}

/// What a model answers that gives its inputs back; without outputs where the types are others.
/// Reads every byte, so that a sanitizer sees a view that reaches too far.
inline runtime::Reply echo(const runtime::Request& request) {
  runtime::Reply reply;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    const terms::TensorView& view = request.inputs[i];
    const auto size = static_cast<std::size_t>(view.size_bytes);
    if (std::string(static_cast<const char*>(view.data), size).size() != size) std::abort();
    if (view.element != no_model().signature().inputs[i].type.element()) return {};
    reply.outputs.push_back({view, nullptr});
  }
  return reply;
}

}  // namespace sluice::open_inference::testing
