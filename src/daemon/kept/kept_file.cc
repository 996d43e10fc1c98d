#include "daemon/kept/kept_file.h"

#include <fmt/format.h>

#include <limits>
#include <set>
#include <utility>

#include "base/json/json_reader.h"
#include "base/text/number.h"
#include "terms/load_json.h"

namespace sluice::daemon {
namespace {

constexpr std::size_t kMaxModels = 1 << 20;
constexpr std::string_view kPackageSuffix = ".sluice";
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max() / 2;

/// What is to be made: a path, a package or a graph.
Status read_source(const JsonValue& value, KeptModel& model) {
  model.path = SLUICE_TRY(value.text_or("path", ""));
  model.package = SLUICE_TRY(value.text_or("package", ""));
  if (value.has("graph")) {
    model.graph = SLUICE_TRY(sandbox::graph_from_json(SLUICE_TRY(value.field("graph"))));
  }
  const int num =
      int{!model.path.empty()} + int{!model.package.empty()} + int{model.graph.has_value()};
  if (num != 1) return invalid_argument("{}: has not one of path, package and graph", value.path());
  if (model.package.empty() || package_number(model.package)) return ok_status();
  return invalid_argument("{}.package: \"{}\" is no NUMBER.sluice", value.path(), model.package);
}

Result<KeptModel> read_model(const JsonValue& value) {
  KeptModel model;
  model.number = SLUICE_TRY(value.int_or("number", 0, 0, kMostNumber));
  SLUICE_TRY(read_source(value, model));
  model.options = SLUICE_TRY(terms::load_options_from_json(value));
  model.user = SLUICE_TRY(value.int_or("user", -1, -1, std::int64_t{1} << 32));
  model.token = SLUICE_TRY(value.text_or("token", ""));
  model.error = SLUICE_TRY(value.text_or("error", ""));
  return model;
}

nlohmann::ordered_json to_json(const KeptModel& model) {
  nlohmann::ordered_json json = terms::to_json(model.options);
  json["number"] = model.number;
  if (!model.path.empty()) json["path"] = model.path;
  if (!model.package.empty()) json["package"] = model.package;
  if (model.graph) json["graph"] = sandbox::to_json(*model.graph);
  if (model.user >= 0) json["user"] = model.user;
  if (!model.token.empty()) json["token"] = model.token;
  if (!model.error.empty()) json["error"] = model.error;
  return json;
}

/// Fails for a number that two models have: a graph's functions would be anybody's guess.
Status give_numbers(std::vector<KeptModel>& models) {
  std::set<std::int64_t> taken;
  for (const KeptModel& model : models) {
    if (model.number == 0 || taken.insert(model.number).second) continue;
    return invalid_argument("models: two have the number {}", model.number);
  }
  std::int64_t next = taken.empty() ? 1 : *taken.rbegin() + 1;
  for (KeptModel& model : models) {
    if (model.number == 0) model.number = next++;
  }
  return ok_status();
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
  SLUICE_TRY(give_numbers(models));
  return models;
}

std::string package_name(std::int64_t number) {
  return fmt::format("{}{}", number, kPackageSuffix);
}

std::optional<std::int64_t> package_number(std::string_view name) {
  if (!name.ends_with(kPackageSuffix)) return std::nullopt;
  name.remove_suffix(kPackageSuffix.size());
  const auto number = to_number<std::int64_t>(name);
  return number && *number > 0 && *number <= kMostNumber ? number : std::nullopt;
}

}  // namespace sluice::daemon
