// An engine for tests: devices of the plug-ins at hand, small models from text.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "runtime/engine.h"
#include "runtime/testing/cookies.h"

namespace sluice::runtime::testing {

/// The plug-ins beside the test program.
const backend::BackendRegistry& registry();

/// An engine, and the requests of a test to it by cookie.
class TestEngine final : public Engine {
 public:
  using Engine::Engine;

  /// Blocks until the reply.
  Reply infer(terms::ModelHandle handle, Request request);
  Result<Cookie> post(terms::ModelHandle handle, Request& request);
  Reply poll(Cookie cookie) { return cookies_.poll(cookie); }
  Reply wait(Cookie cookie, std::int64_t deadline_ns) { return cookies_.wait(cookie, deadline_ns); }
  std::vector<Cookie> completed(std::span<const Cookie> cookies) const {
    return cookies_.completed(cookies);
  }
  Status cancel(Cookie cookie) { return cookies_.cancel(cookie); }

 private:
  CookieTable cookies_;
};

/// One device of kind "cpu" with a core per processor that this process may use, at most
/// `max_cores`.
topology::DeviceMap cpu_map(int max_cores = 64);

/// A device of kind "cpu" with this many cores, however many processors there are: all on the first
/// one. For bookkeeping, not for speed.
topology::DeviceMap pretended_cpu_map(int num_cores);

/// The first device of a simulated machine, of which engines use four cores.
topology::DeviceMap sim_map(const backend::Backend& sim);

/// The model of a graph's text (ir/text).
std::shared_ptr<const package::Executable> model_of(std::string_view graph_text,
                                                    std::string_view backend = "cpu");
/// y = relu(x + c), f32[4], on `backend`; c = [1, -2, 3, -4].
std::shared_ptr<const package::Executable> add_relu(std::string_view backend = "cpu");
/// The same as a package has it: its constants are aligned.
std::shared_ptr<const package::Executable> aligned_add_relu();
/// The same as add_relu in segments of these cores: one operation in each, at most two.
std::shared_ptr<const package::Executable> add_relu_in(std::vector<std::int32_t> cores,
                                                       std::string_view backend = "cpu");

/// A request for add_relu with memory of its own: x = [value, ...].
Request request_of(float value);
/// The elements of an f32 output.
std::vector<float> floats(const terms::OutputTensor& output);

LoadRequest load_of(std::shared_ptr<const package::Executable> executable, std::string name = "m");

}  // namespace sluice::runtime::testing
