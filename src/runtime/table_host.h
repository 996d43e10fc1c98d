// A host whose models are objects in a table.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/handle_table.h"
#include "runtime/model_host.h"

namespace sluice::runtime {

/// Finds and lists models. `T` is what the host has of a model, and may be incomplete where only
/// the host's header is read.
template <typename T>
class TableHost : public ModelHost {
 public:
  Result<terms::ModelInfo> info(terms::ModelHandle handle) const override {
    return describe(static_cast<std::uint64_t>(handle), *SLUICE_TRY(find(handle)));
  }
  std::vector<terms::ModelInfo> list_models() const override {
    std::vector<terms::ModelInfo> infos;
    for (const auto& [handle, model] : models_.all()) infos.push_back(describe(handle, *model));
    return infos;
  }

 protected:
  /// An error reads "no <what> has handle 0x1, or <end>". Both texts are literals.
  explicit TableHost(HandleKind kind, std::string_view what = "model",
                     std::string_view end = "it was unloaded")
      : models_(kind), what_(what), end_(end) {}

  virtual terms::ModelInfo describe(std::uint64_t handle, const T& model) const = 0;

  Status unknown(terms::ModelHandle handle) const {
    return terms::runtime_error(RuntimeCode::kInvalidHandle, "no {} has handle {:#x}, or {}", what_,
                                static_cast<std::uint64_t>(handle), end_);
  }
  /// Fails: kInvalidHandle.
  Result<std::shared_ptr<T>> find(terms::ModelHandle handle) const {
    auto model = models_.find(static_cast<std::uint64_t>(handle));
    if (model == nullptr) return unknown(handle);
    return model;
  }

  HandleTable<T> models_;

 private:
  const std::string_view what_;
  const std::string_view end_;
};

}  // namespace sluice::runtime
