#include "operators/custom_backend.h"

#include <array>
#include <memory>
#include <string>

#include "backend/registry.h"
#include "operators/registered_operator.h"
#include "sluice/host_backend.hpp"

namespace sluice::operators {
namespace {

std::string node_of(const sluice_op& op) {
  return "node \"" + std::string(op.name) + "\" (" + plugin::kind_of(op) + ")";
}

class CustomKernel : public plugin::HostKernel {
 public:
  explicit CustomKernel(const sluice_operator& custom) : custom_(custom) {}

  plugin::Status run(const plugin::Call& call) const override {
    const sluice_op& op = call.op();
    const sluice_operator_call given = {
        sizeof(sluice_operator_call), 0,           &op, call.inputs().data(), call.outputs().data(),
        call.actual_dims().data(),    call.texts()};
    std::array<char, 512> text = {};
    // The last byte stays 0, whatever the kernel writes.
    sluice_message message = {text.data(), text.size() - 1};
    // Code of the program: it may throw, which must not cross the plug-in boundary.
    const plugin::Status thrown = plugin::catch_all([&]() -> plugin::Status {
      return {custom_.run(custom_.user_data, &given, &message), {}};
    });
    if (thrown.is_ok()) return plugin::ok();
    const std::string reason = !thrown.text.empty() ? "its kernel threw: " + thrown.text
                               : text[0] == '\0'    ? "its kernel failed without a message"
                                                    : text.data();
    return {thrown.code, node_of(op) + ": " + reason};
  }

 private:
  const sluice_operator& custom_;
};

class CustomBackend : public plugin::HostBackend {
 public:
  CustomBackend() : HostBackend({}) {}
  std::string device_name() const override { return "operators of the program"; }

  plugin::Status check(const sluice_op& op) const override {
    const sluice_operator* custom = find_registered_operator(op.domain, op.kind);
    if (custom == nullptr) {
      return plugin::unimplemented("the program registered no " + plugin::kind_of(op));
    }
    // A package that was compiled with another version of the operator may mean another
    // computation.
    if (op.version != custom->version) {
      return plugin::unimplemented(node_of(op) + " is of version " + std::to_string(op.version) +
                                   "; the program registered version " +
                                   std::to_string(custom->version));
    }
    if (op.body != nullptr) return plugin::unimplemented("a fused body");
    return plugin::check_row_major(op);
  }

  plugin::Status make_kernel(const sluice_op& op,
                             std::unique_ptr<plugin::HostKernel>* kernel) const override {
    // check() has found it, and registrations are never removed.
    *kernel = std::make_unique<CustomKernel>(*find_registered_operator(op.domain, op.kind));
    return plugin::ok();
  }
};

struct CustomPlugin : plugin::HostPlugin<CustomBackend> {
  static constexpr const char* kName = "custom";
  static constexpr const char* kVersion = "1";
};

const sluice_backend_api* custom_entry(std::uint16_t host_major, std::uint16_t /*host_minor*/,
                                       sluice_message* message) {
  return plugin::PluginTable<CustomPlugin>::get(host_major, message);
}

}  // namespace

Status add_custom_backend() {
  // Once per process, by whichever registration comes first.
  static const Status kAdded = []() -> Status {
    return backend::add_to_process(
        SLUICE_TRY(backend::Backend::create(std::string(backend::kCustomBackend), custom_entry)));
  }();
  return kAdded;
}

}  // namespace sluice::operators
