#include "daemon/kept_models.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json/json_reader.h"
#include "terms/load_json.h"

namespace sluice::daemon {
namespace {

// The daemon wrote the file, but an administrator may have edited it.
constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 26;
constexpr std::size_t kMaxModels = 1 << 20;

Result<KeptModel> read_model(const JsonValue& value) {
  KeptModel model;
  model.path = SLUICE_TRY(SLUICE_TRY(value.field("path")).as_text());
  model.options = SLUICE_TRY(terms::load_options_from_json(value));
  model.user = SLUICE_TRY(value.int_or("user", -1, -1, std::int64_t{1} << 32));
  model.token = SLUICE_TRY(value.text_or("token", ""));
  return model;
}

nlohmann::ordered_json to_json(const KeptModel& model) {
  nlohmann::ordered_json json = terms::to_json(model.options);
  json["path"] = model.path;
  if (model.user >= 0) json["user"] = model.user;
  if (!model.token.empty()) json["token"] = model.token;
  return json;
}

}  // namespace

std::string print_kept_models(const std::vector<KeptModel>& models) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const KeptModel& model : models) list.push_back(to_json(model));
  const nlohmann::ordered_json root = {{"models", std::move(list)}};
  return root.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<std::vector<KeptModel>> parse_kept_models(std::string_view text) {
  const nlohmann::json json = SLUICE_TRY(parse_json(text));
  const JsonValue root(json, "");
  std::vector<KeptModel> models;
  for (const JsonValue& value : SLUICE_TRY(SLUICE_TRY(root.field("models")).as_items(kMaxModels))) {
    models.push_back(SLUICE_TRY(read_model(value)));
  }
  return models;
}

Status KeptModels::restore(service::Service& service) {
  if (path_.empty()) return ok_status();
  const auto text = read_text_file(path_, kMaxListBytes);
  std::vector<KeptModel> models;
  if (text.is_ok()) {
    models = SLUICE_TRY(parse_kept_models(*text).with_context(
        fmt::format("state_file \"{}\"; mend it, or move it away to start without models", path_)));
  } else if (text.status().code() != Code::kNotFound) {
    return text.status().with_context("state_file");
  }
  // Set after the file was read: models that restore loads below are added like those of clients.
  service.set_model_events({[this](terms::ModelHandle handle, const std::string& path,
                                   const terms::LoadOptions& options, const terms::Peer& by) {
                              add(handle, {path, options, by.user, by.token});
                            },
                            [this](terms::ModelHandle handle) { remove(handle); }});
  for (KeptModel& model : models) {
    const auto entry = service.load_again(model.options, model.path, model.user, model.token);
    if (entry.is_ok()) continue;  // `add` has it
    log_.add(service::LogLevel::kError, "model.not_restored path={} reason={}",
             service::in_quotes(model.path), service::in_quotes(entry.status().message()));
    const std::lock_guard lock(mutex_);
    // Kept, because the package may be back at the next start; the next write() must not drop it.
    absent_.push_back(std::move(model));
  }
  return ok_status();
}

void KeptModels::add(terms::ModelHandle handle, KeptModel model) {
  const std::lock_guard lock(mutex_);
  loaded_.insert_or_assign(handle, std::move(model));
  // Under the lock, so that files are written in the order of the changes.
  write();
}

void KeptModels::remove(terms::ModelHandle handle) {
  const std::lock_guard lock(mutex_);
  if (loaded_.erase(handle) > 0) write();
}

void KeptModels::write() const {
  std::vector<KeptModel> all = absent_;
  for (const auto& [handle, model] : loaded_) all.push_back(model);
  const std::string text = print_kept_models(all);
  std::error_code ignored;  // the write reports a folder that is not there
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  // A daemon that is killed here leaves the former list.
  const Status status = write_file_atomically(path_, std::as_bytes(std::span(text)));
  if (status.is_ok()) return;
  log_.add(service::LogLevel::kError, "state.not_written path={} reason={}",
           service::in_quotes(path_), service::in_quotes(status.message()));
}

}  // namespace sluice::daemon
