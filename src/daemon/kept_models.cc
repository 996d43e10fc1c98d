#include "daemon/kept_models.h"

#include <nlohmann/json.hpp>

#include <limits>

#include "base/file.h"
#include "base/json/json_reader.h"

namespace sluice::daemon {
namespace {

// The daemon wrote the file, but an administrator may have edited it.
constexpr std::int64_t kMaxListBytes = std::int64_t{1} << 26;
constexpr std::size_t kMaxModels = 1 << 20;

Result<KeptModel> read_model(const JsonValue& value) {
  KeptModel model;
  model.path = SLUICE_TRY(SLUICE_TRY(value.field("path")).as_text());
  terms::LoadOptions& options = model.options;
  options.name = SLUICE_TRY(value.text_or("name", ""));
  options.depth = static_cast<int>(SLUICE_TRY(value.int_or("depth", 0, 0, terms::kMaxDepth)));
  options.weight = static_cast<int>(SLUICE_TRY(value.int_or("weight", 1, 1, terms::kMaxWeight)));
  const auto waiting = SLUICE_TRY(value.int_or("queue_limit", -1, -1, terms::kMaxWaiting));
  if (waiting >= 0) options.queue_limit = static_cast<int>(waiting);
  const auto recorded = SLUICE_TRY(
      value.int_or("max_recorded_bytes", -1, -1, std::numeric_limits<std::int64_t>::max()));
  if (recorded >= 0) options.max_recorded_bytes = recorded;
  if (value.has("batch_rows")) {
    options.batching = terms::BatchOptions{
        SLUICE_TRY(value.int_or("batch_rows", 0, 0, terms::kMaxBatchRows)),
        SLUICE_TRY(value.int_or("max_delay_ns", 0, 0, std::numeric_limits<std::int64_t>::max()))};
  }
  const bool flags_nan = SLUICE_TRY(value.int_or("flag_nan", 0, 0, 1)) == 1;
  options.nan_policy = flags_nan ? terms::NanPolicy::kFlag : terms::NanPolicy::kPass;
  if (value.has("seed")) {
    const auto field = SLUICE_TRY(value.field("seed"));
    options.seed = static_cast<std::uint64_t>(SLUICE_TRY(field.as_int(INT64_MIN, INT64_MAX)));
  }
  const std::string isolation = SLUICE_TRY(value.text_or("isolation", ""));
  model.user = SLUICE_TRY(value.int_or("user", -1, -1, std::int64_t{1} << 32));
  model.token = SLUICE_TRY(value.text_or("token", ""));
  if (!isolation.empty()) options.isolation = SLUICE_TRY(terms::parse_isolation(isolation));
  return model;
}

nlohmann::ordered_json to_json(const KeptModel& model) {
  const terms::LoadOptions& options = model.options;
  nlohmann::ordered_json json = {
      {"path", model.path},
      {"name", options.name},
      {"depth", options.depth},
      {"weight", options.weight},
      {"flag_nan", options.nan_policy == terms::NanPolicy::kFlag ? 1 : 0}};
  if (options.queue_limit) json["queue_limit"] = *options.queue_limit;
  if (options.max_recorded_bytes) json["max_recorded_bytes"] = *options.max_recorded_bytes;
  if (options.batching) {
    json["batch_rows"] = options.batching->rows;
    json["max_delay_ns"] = options.batching->max_delay_ns;
  }
  if (model.user >= 0) json["user"] = model.user;
  if (!model.token.empty()) json["token"] = model.token;
  if (options.seed) json["seed"] = static_cast<std::int64_t>(*options.seed);  // its bits
  if (options.isolation) json["isolation"] = terms::isolation_name(*options.isolation);
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
