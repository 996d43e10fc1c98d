#include "service/table/model_by_name.h"

#include <algorithm>
#include <utility>

#include "base/no_memory.h"
#include "base/process/with_lock.h"

namespace sluice::service {
namespace {

/// Whether the tensors that an ensemble was checked with are still the model's.
Status check(const std::vector<terms::TensorSpec>& before,
             const std::vector<terms::TensorSpec>& now, std::string_view what) {
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    if (i < before.size() && i < now.size() && before[i].name == now[i].name &&
        before[i].type == now[i].type) {
      continue;
    }
    const auto shown = [&](const std::vector<terms::TensorSpec>& specs) {
      return i < specs.size() ? fmt::format("\"{}\", {}", specs[i].name, specs[i].type.to_string())
                              : std::string("missing");
    };
    return terms::runtime_error(RuntimeCode::kFailed,
                                "the model was replaced: its {} {} is now {}, and was {}; load the "
                                "ensemble again",
                                what, i, shown(now), shown(before));
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<ModelByName>> ModelByName::find(const ModelTable& table, std::string name,
                                                       std::optional<std::int64_t> version) {
  const Model model = SLUICE_TRY(table.find(name, {version}, terms::kNobody)).served.ref;
  return std::shared_ptr<ModelByName>(new ModelByName(table, std::move(name), version, model));
}

ModelByName::ModelByName(const ModelTable& table, std::string name,
                         std::optional<std::int64_t> version, const Model& model)
    : table_(table),
      name_(std::move(name)),
      version_(version),
      signature_(model->signature()),
      clock_(model->clock()) {}

Result<ModelByName::Model> ModelByName::find_now() const {
  return SLUICE_TRY(table_.find_for_request(name_, {version_}, terms::kNobody)).served.ref;
}

Status ModelByName::check_tensors(const dispatch::ModelRef& model) const {
  SLUICE_TRY(check(signature_.inputs, model.signature().inputs, "input"));
  return check(signature_.outputs, model.signature().outputs, "output");
}

int ModelByName::depth() const {
  const auto model = table_.find(name_, {version_}, terms::kNobody);
  return model.is_ok() ? model->served.ref->sink().depth() : 1;
}

/// The flight shares the model until the answer, as the requests of clients do: an update unloads
/// the old model after that.
Result<std::uint64_t> ModelByName::submit(runtime::Request& request) {
  const Model model = SLUICE_TRY(find_now());
  SLUICE_TRY(check_tensors(*model));
  // What may lack memory comes first: a flight that is entered ends with its request.
  const std::uint64_t id = ++last_id_;
  const auto on_done = std::make_shared<std::function<void(runtime::Reply)>>();
  std::function<void(runtime::Reply)> leave_after = [self = shared_from_this(), id,
                                                     on_done](runtime::Reply reply) {
    (*on_done)(std::move(reply));
    self->leave(id);  // wakes whoever waits for what the reply has changed
  };
  with_lock(mutex_, [&] { flights_.emplace(id, Flight{model}); });
  *on_done = std::exchange(request.on_done, std::move(leave_after));
  // The caller waits in this object, not in the model.
  const bool will_wait = std::exchange(request.will_wait, false);
  const auto inner = catch_no_memory([&] { return model->sink().submit(request); });
  if (!inner.is_ok()) {
    request.on_done = std::move(*on_done);
    request.will_wait = will_wait;
    leave(id);
    return inner;
  }
  bool is_cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    const auto it = flights_.find(id);  // gone if it is answered
    if (it != flights_.end()) {
      it->second.id = *inner;
      is_cancelled = it->second.is_cancelled;
    }
  }
  if (is_cancelled) model->sink().cancel(*inner);
  return id;
}

bool ModelByName::cancel(std::uint64_t id) {
  Model model;
  std::optional<std::uint64_t> inner;
  {
    const std::lock_guard lock(mutex_);
    const auto it = flights_.find(id);
    if (it == flights_.end()) return false;
    it->second.is_cancelled = true;
    inner = it->second.id;
    model = it->second.model;
  }
  return !inner || model->sink().cancel(*inner);  // without an id `submit` sees it
}

void ModelByName::leave(std::uint64_t id) {
  Model model;  // goes behind the lock, perhaps as its last owner
  const std::lock_guard lock(mutex_);
  auto node = flights_.extract(id);
  if (!node.empty()) model = std::move(node.mapped().model);
  changed_.notify_all();
}

}  // namespace sluice::service
