// Calls into a plug-in, and ownership of what it creates.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <utility>

#include "backend/backend.h"

namespace sluice::backend {

/// The Status for a plug-in's code and message; `text` need not be NUL-terminated by the plug-in.
Status status_from_plugin(std::string_view plugin, sluice_code code, std::string_view text);

/// Calls `function(sluice_message*)`, which returns a sluice_code.
template <typename Function>
Status call_plugin(std::string_view plugin, Function&& function) {
  std::array<char, 512> text = {};
  sluice_message message = {text.data(), text.size() - 1};
  sluice_code code = SLUICE_INTERNAL;
  try {
    code = std::forward<Function>(function)(&message);
  } catch (const std::exception& error) {
    return internal_error("backend \"{}\" threw: {}", plugin, error.what());
  } catch (...) {
    return internal_error("backend \"{}\" threw an object that is not a std::exception", plugin);
  }
  if (code == SLUICE_OK) [[likely]]
    return ok_status();
  return status_from_plugin(plugin, code, text.data());
}

/// As above for a function of a plug-in's table, which takes these arguments and then its message.
template <typename... Parameters, typename... Args>
Status call_plugin(std::string_view plugin, sluice_code (*function)(Parameters...),
                   const Args&... args) {
  return call_plugin(plugin, [&](sluice_message* message) { return function(args..., message); });
}

/// Calls a `destroy` of a plug-in. Exceptions are swallowed: a destructor has no caller to report
/// them to.
template <typename Function>
void destroy_in_plugin(Function&& function) noexcept {
  try {
    std::forward<Function>(function)();
  } catch (...) {  // NOLINT(bugprone-empty-catch)
  }
}

/// Owns a C object and shares its parent, so that the object is destroyed first. Move-only.
template <typename Object, typename Parent>
class Handle {
 public:
  Handle(std::shared_ptr<const Parent> parent, Object* object, void (*destroy)(Object*))
      : parent_(std::move(parent)), object_(object), destroy_(destroy) {}
  Handle(Handle&& other) noexcept
      : parent_(std::move(other.parent_)),
        object_(std::exchange(other.object_, nullptr)),
        destroy_(other.destroy_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(parent_, other.parent_);
    std::swap(object_, other.object_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() {
    if (object_ != nullptr) destroy_in_plugin([this] { destroy_(object_); });
  }

  Object* get() const { return object_; }
  const std::shared_ptr<const Parent>& parent() const { return parent_; }

 private:
  std::shared_ptr<const Parent> parent_;
  Object* object_;
  void (*destroy_)(Object*);
};

}  // namespace sluice::backend
