#include "repository/config/model_list.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/json/json_reader.h"
#include "base/text/number.h"
#include "base/utf8.h"
#include "repository/config/traffic_text.h"

namespace sluice::repository {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kMaxDepthOfJson = 16;
constexpr std::size_t kMaxModels = 4096;
constexpr std::size_t kMaxVersions = 1024;
constexpr std::size_t kMaxRank = 64;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

/// Fields that OVMS has and that change no answer here.
constexpr std::array<std::string_view, 9> kIgnored = {"target_device",
                                                      "plugin_config",
                                                      "allow_cache",
                                                      "idle_sequence_cleanup",
                                                      "low_latency_transformation",
                                                      "max_sequence_number",
                                                      "custom_loader_options",
                                                      "metrics_enable",
                                                      "log_level"};
/// Fields with which OVMS changes tensors or keeps state.
constexpr std::array<std::string_view, 6> kUnserved = {"mean",      "scale",    "color_format",
                                                       "precision", "stateful", "layout"};

/// Size from a text such as "auto", "1:8" or "-1", or from a number: -1 stands for any size.
Result<std::int64_t> size_of(std::string_view text, const std::string& path) {
  text = trimmed(text);
  if (text == "auto" || text == "-1" || text.find(':') != std::string_view::npos) return -1;
  const auto size = to_number<std::int64_t>(text);
  if (size && *size >= 0) return *size;
  return invalid_argument("{}: \"{}\" is no size of a dimension", path, shown(text));
}

/// "(1,3,224,224)"; nullopt for "auto".
Result<std::optional<std::vector<std::int64_t>>> dims_of(std::string_view text,
                                                         const std::string& path) {
  if (text == "auto") return std::optional<std::vector<std::int64_t>>();
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') {
    return invalid_argument("{}: \"{}\" is no shape such as \"(1,3,224,224)\"", path, shown(text));
  }
  text = text.substr(1, text.size() - 2);
  std::vector<std::int64_t> dims;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    dims.push_back(SLUICE_TRY(size_of(text.substr(0, end), path)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (dims.size() > kMaxRank)
      return invalid_argument("{}: more than {} dimensions", path, kMaxRank);
  }
  return std::optional(std::move(dims));
}

/// Reads a `config` of the list.
class ListedReader {
 public:
  explicit ListedReader(const fs::path& folder) : folder_(folder) {}

  Result<ListedModel> read(const json& fields, const std::string& path) {
    if (!fields.is_object()) return invalid_argument("{}: expected an object", path);
    ModelConfig& config = model_.config;
    for (const auto& [name, value] : fields.items()) {
      SLUICE_TRY(read_field(name, JsonValue(value, path + "." + shown(name)), value));
    }
    if (config.name.empty()) return invalid_argument("{}.name: missing", path);
    if (model_.base.empty()) return invalid_argument("{}.base_path: missing", path);
    return std::move(model_);
  }

 private:
  Status read_field(const std::string& name, const JsonValue& field, const json& value) {
    ModelConfig& config = model_.config;
    if (name == "name") {
      config.name = SLUICE_TRY(field.as_text());
      SLUICE_TRY(check_name(config.name, "model").with_context(field.path()));
      if (config.name.empty() || config.name.find('/') != std::string::npos) {
        return invalid_argument("{}: a name is not empty and has no slash", field.path());
      }
    } else if (name == "base_path") {
      const std::string place = SLUICE_TRY(field.as_text());
      if (place.empty() || place.find("://") != std::string::npos) {
        return invalid_argument("{}: \"{}\" is no folder of this machine", field.path(),
                                shown(place));
      }
      model_.base = folder_ / place;  // an absolute one stays as it is
    } else if (name == "model_version_policy") {
      return read_policy(field, value);
    } else if (name == "nireq") {
      config.options.depth = static_cast<int>(SLUICE_TRY(field.as_int(0, terms::kMaxDepth)));
    } else if (name == "batch_size") {
      const std::string text = value.is_string()
                                   ? SLUICE_TRY(field.as_text())
                                   : std::to_string(SLUICE_TRY(field.as_int(-1, kMost)));
      config.batch_size = std::max<std::int64_t>(SLUICE_TRY(size_of(text, field.path())), 0);
    } else if (name == "shape") {
      return read_shapes(field, value);
    } else {
      return read_other(name, field, value);
    }
    return ok_status();
  }

  Status read_other(const std::string& name, const JsonValue& field, const json& value) {
    if (is_traffic(name)) {
      const std::string text = SLUICE_TRY(field.as_text());
      return read_traffic(name, text, model_.config.traffic).with_context(field.path());
    }
    const bool is_unserved = std::ranges::find(kUnserved, name) != kUnserved.end();
    const bool has_effect = name == "layout" ? changes_layout(value) : value != json(false);
    if (is_unserved && has_effect) {
      return make_error(Code::kUnimplemented, "{}: tensors come as the model takes them",
                        field.path());
    }
    const bool is_known = is_unserved || std::ranges::find(kIgnored, name) != kIgnored.end();
    model_.config.warnings.push_back(fmt::format(
        "{}: {}", field.path(), is_known ? "has no effect here" : "unknown field, ignored"));
    return ok_status();
  }

  /// "NHWC:NCHW" has the server change tensors; "NHWC" only says what the model has.
  static bool changes_layout(const json& layout) {
    if (layout.is_object()) return std::ranges::any_of(layout, changes_layout);
    return !layout.is_string() ||
           layout.get_ref<const std::string&>().find(':') != std::string::npos;
  }

  Status read_policy(const JsonValue& field, const json& value) {
    if (!value.is_object() || value.size() != 1) {
      return invalid_argument("{}: expected one of latest, all and specific", field.path());
    }
    VersionPolicy policy;
    const std::string& kind = value.begin().key();
    const JsonValue options(value.begin().value(), field.path() + "." + shown(kind));
    if (kind == "latest") {
      policy.num_latest = SLUICE_TRY(options.int_or("num_versions", 1, 1, kMost));
    } else if (kind == "all") {
      policy.kind = VersionPolicy::Kind::kAll;
    } else if (kind == "specific") {
      policy.kind = VersionPolicy::Kind::kSpecific;
      const auto versions = SLUICE_TRY(options.field("versions"));
      for (const JsonValue& version : SLUICE_TRY(versions.as_items(kMaxVersions))) {
        policy.versions.push_back(SLUICE_TRY(version.as_int(1, kMost)));
      }
    } else {
      return invalid_argument("{}: expected one of latest, all and specific", field.path());
    }
    model_.config.policy = std::move(policy);
    return ok_status();
  }

  /// One shape of the only input, or an object of shapes by input, which may stand in a text.
  Status read_shapes(const JsonValue& field, const json& value) {
    if (value.is_object()) {
      for (const auto& [input, shape] : value.items()) {
        SLUICE_TRY(add_shape(input, JsonValue(shape, field.path() + "." + shown(input))));
      }
      return ok_status();
    }
    const std::string text = SLUICE_TRY(field.as_text());
    if (!text.starts_with('{')) return add_shape("", field);
    const json inner = SLUICE_TRY(parse_json(text).with_context(field.path()));
    return read_shapes(field, inner);
  }

  Status add_shape(const std::string& input, const JsonValue& shape) {
    const std::string text = SLUICE_TRY(shape.as_text());
    auto dims = SLUICE_TRY(dims_of(text, shape.path()));
    if (!dims) return ok_status();
    terms::DeclaredTensor tensor;
    tensor.name = input;
    tensor.dims = std::move(*dims);
    model_.config.inputs.push_back(std::move(tensor));
    return ok_status();
  }

  const fs::path& folder_;
  ListedModel model_;
};

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Text of the fields that a load depends on.
std::string load_text_of(const json& fields) {
  json kept = json::object();
  for (const auto& [name, value] : fields.items()) {
    if (!is_traffic(name)) kept[name] = value;
  }
  return dump(kept);
}

}  // namespace

Result<ModelList> read_model_list(std::string_view text, const fs::path& folder) {
  // The ordered reading bounds depth and members; no field's order matters.
  const json all = SLUICE_TRY(parse_ordered_json(text, kMaxDepthOfJson));
  const JsonValue root(all, "");
  const auto entries = SLUICE_TRY(root.field("model_config_list"));
  ModelList list;
  for (const auto& [name, value] : all.items()) {
    const bool is_empty = value.empty();
    if (name == "model_config_list" || is_empty) continue;
    list.warnings.push_back(
        fmt::format("{}: {}", shown(name),
                    name == "monitoring" ? "metrics are always there" : "is not served"));
  }
  SLUICE_TRY(entries.as_items(kMaxModels));
  const json& listed = all["model_config_list"];
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const json& entry = listed[i];
    const std::string path = fmt::format("model_config_list[{}].config", i);
    const auto found = entry.is_object() ? entry.find("config") : entry.end();
    if (!entry.is_object() || found == entry.end()) return invalid_argument("{}: missing", path);
    auto model = SLUICE_TRY(ListedReader(folder).read(*found, path));
    model.text = dump(*found);
    model.config.load_text = load_text_of(*found);
    list.models.push_back(std::move(model));
  }
  const auto name_of = [](const ListedModel& model) -> const std::string& {
    return model.config.name;
  };
  std::ranges::sort(list.models, {}, name_of);
  const auto twice = std::ranges::adjacent_find(list.models, {}, name_of);
  if (twice == list.models.end()) return list;
  return invalid_argument("model_config_list: \"{}\" comes twice", name_of(*twice));
}

}  // namespace sluice::repository
