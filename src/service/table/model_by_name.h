// A model of the daemon as the steps of an ensemble ask for it: by its name, at each request.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dispatch/traffic.h"
#include "runtime/request/locked_sink.h"
#include "service/table/model_table.h"

namespace sluice::service {

/// Each request goes to the model that the name has then: a model that is loaded again takes over
/// between two requests, and one that is unloaded refuses. Safe from any thread. Always owned by a
/// shared_ptr; requests in flight keep it alive.
///
/// Locks: `mutex_` is never held while a model or an on_done is called.
class ModelByName final : public runtime::LockedSink,
                          public std::enable_shared_from_this<ModelByName> {
 public:
  /// The signature stays that of now. `table` outlives this. `version`: none for the table's
  /// choice. Fails: kInvalidHandle, with code kNotFound, for a name that no model has which nobody
  /// owns.
  static Result<std::shared_ptr<ModelByName>> find(const ModelTable& table, std::string name,
                                                   std::optional<std::int64_t> version);

  const terms::Signature& signature() const override { return signature_; }
  /// 1 while no model has the name.
  int depth() const override;
  Clock& clock() const override { return clock_; }
  /// Fails: kInvalidHandle as `find`; kFailed for a model whose tensors are others than those of
  ///        the signature; as the model.
  Result<std::uint64_t> submit(runtime::Request& request) override;
  bool cancel(std::uint64_t id) override;

 private:
  using Model = std::shared_ptr<dispatch::ModelRef>;
  struct Flight {
    Model model;
    std::optional<std::uint64_t> id = {};  ///< the model's; none: it is being submitted
    bool is_cancelled = false;
  };

  ModelByName(const ModelTable& table, std::string name, std::optional<std::int64_t> version,
              const Model& model);
  Result<Model> find_now() const;
  Status check_tensors(const dispatch::ModelRef& model) const;
  void leave(std::uint64_t id);

  const ModelTable& table_;
  const std::string name_;
  const std::optional<std::int64_t> version_;
  const terms::Signature signature_;
  Clock& clock_;
  std::atomic<std::uint64_t> last_id_ = 0;
  std::map<std::uint64_t, Flight> flights_;  ///< guarded by `mutex_`
};

}  // namespace sluice::service
