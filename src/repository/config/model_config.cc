#include "repository/config/model_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <optional>

#include "open_inference/datatypes.h"
#include "repository/config/shown.h"
#include "repository/config/text_format.h"
#include "repository/config/traffic_text.h"

namespace sluice::repository {
namespace {

/// Limits of numbers in a configuration, which a client may send: a delay of more than an hour is a
/// slip.
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostDelayUs = 3'600'000'000;  // an hour
constexpr std::size_t kMaxWarnings = 64;
constexpr std::size_t kMaxTensors = 1024;  // inputs, and outputs

template <typename... Args>
Status fail(const TextField& field, Code code, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(code, "line {}: {}: {}", field.line, shown(field.name),
                    fmt::format(format, std::forward<Args>(args)...));
}

Result<std::int64_t> int_of(const TextField& field, std::int64_t least, std::int64_t most) {
  std::int64_t number = 0;
  const char* end = field.value.data() + field.value.size();
  const auto [stop, error] = std::from_chars(field.value.data(), end, number);
  // A number in quotes is a text to Triton's reader, and an error for this field.
  const bool is_number = error == std::errc() && stop == end && !field.is_text && !field.is_message;
  if (is_number && number >= least && number <= most) return number;
  return fail(field, Code::kInvalidArgument, "\"{}\" is no whole number from {} to {}",
              shown(field.value), least, most);
}

Result<bool> bool_of(const TextField& field) {
  // The spellings that protobuf's text format takes.
  if (field.value == "true" || field.value == "True" || field.value == "1") return true;
  if (field.value == "false" || field.value == "False" || field.value == "0") return false;
  return fail(field, Code::kInvalidArgument, "\"{}\" is neither true nor false",
              shown(field.value));
}

Result<std::string> text_of(const TextField& field) {
  if (field.is_text) return field.value;
  return fail(field, Code::kInvalidArgument, "a text in quotes is missing");
}

/// A field that would change results or answers if it were passed over. The model is refused then:
/// a configuration that half works is found in production.
Status unserved(const TextField& field, std::string_view why) {
  return fail(field, Code::kUnimplemented, "{}", why);
}

/// Reads fields into a configuration. Whatever it passes over gets a warning.
class ConfigReader {
 public:
  Result<ModelConfig> read(const std::vector<TextField>& fields) {
    for (const TextField& field : fields) {
      SLUICE_TRY(read_field(field));
      if (field.name != "parameters") print(field, config_.load_text);
    }
    SLUICE_TRY(finish());
    return std::move(config_);
  }

 private:
  using Fields = const std::vector<TextField>&;

  void ignore(const TextField& field, std::string_view why) {
    // Each load logs them.
    const std::size_t count = config_.warnings.size();
    if (count > kMaxWarnings) return;
    config_.warnings.push_back(
        fmt::format("line {}: {}: {}", field.line, shown(field.name),
                    count < kMaxWarnings ? why : "more fields without effect follow"));
  }
  void ignore_unknown(const TextField& field) {
    const bool is_known = std::ranges::find(kIgnored, field.name) != kIgnored.end();
    ignore(field, is_known ? "has no effect here" : "unknown field, ignored");
  }

  /// Fields that Triton has and that change nothing here.
  static constexpr std::array<std::string_view, 11> kIgnored = {
      "optimization",     "metric_tags",
      "model_warmup",     "response_cache",
      "runtime",          "model_operations",
      "model_metrics",    "cc_model_filenames",
      "is_shape_tensor",  "is_non_linear_format_io",
      "preserve_ordering"};

  Status read_field(const TextField& field) {
    const std::string_view name = field.name;
    if (name == "name") {
      config_.name = SLUICE_TRY(text_of(field));
    } else if (name == "platform" || name == "backend") {
      return read_backend(field);
    } else if (name == "default_model_filename") {
      // The name must not lead out of the version's folder: clients send configurations, too.
      config_.file_name = SLUICE_TRY(text_of(field));
      if (config_.file_name.find('/') != std::string::npos || config_.file_name == "..") {
        return fail(field, Code::kInvalidArgument, "a file of the version's folder has no slash");
      }
    } else if (name == "max_batch_size") {
      config_.max_batch_size = SLUICE_TRY(int_of(field, 0, std::numeric_limits<int>::max()));
    } else if (name == "input" || name == "output") {
      auto& tensors = name == "input" ? config_.inputs : config_.outputs;
      if (tensors.size() == kMaxTensors) {
        return fail(field, Code::kInvalidArgument, "more than {} of them", kMaxTensors);
      }
      tensors.push_back(SLUICE_TRY(read_tensor(field)));
    } else if (name == "version_policy") {
      return read_policy(field.fields);
    } else if (name == "instance_group") {
      return read_group(field.fields);
    } else if (name == "dynamic_batching") {
      // Kept for the message of finish(), which knows max_batch_size: it may stand behind this
      // field.
      batching_ = field;
      return read_batching(field.fields);
    } else if (name == "parameters") {
      return read_parameter(field);
    } else if (name == "model_transaction_policy") {
      return read_transactions(field.fields);
    } else {
      return read_unserved(field);
    }
    return ok_status();
  }

  /// An entry of the map in which other servers let backends have settings of their own.
  Status read_parameter(const TextField& entry) {
    std::string key;
    std::string value;
    for (const TextField& field : entry.fields) {
      if (field.name == "key") key = SLUICE_TRY(text_of(field));
      if (field.name != "value") continue;
      for (const TextField& text : field.fields) {
        if (text.name == "string_value") value = SLUICE_TRY(text_of(text));
      }
    }
    if (!is_traffic(key)) {
      ignore(entry, "has no effect here");
      print(entry, config_.load_text);
      config_.parameters[key] = value;
      return ok_status();
    }
    return read_traffic(key, value, config_.traffic)
        .with_context(fmt::format("line {}: {}", entry.line, key));
  }

  Status read_unserved(const TextField& field) {
    const std::string_view name = field.name;
    if (name == "ensemble_scheduling") return unserved(field, "ensembles are not served");
    if (name == "sequence_batching") return unserved(field, "sequences are not served");
    if (name == "batch_input" || name == "batch_output") {
      return unserved(field, "ragged batches are not served");
    }
    if (name == "model_repository_agents") return unserved(field, "no agent is there to ask");
    ignore_unknown(field);
    return ok_status();
  }

  Status read_backend(const TextField& field) {
    const std::string name = SLUICE_TRY(text_of(field));
    (field.name == "platform" ? config_.platform : config_.backend) = name;
    // Names of backends that take ONNX files; Sluice runs their models without a change of the
    // configuration.
    constexpr std::array<std::string_view, 4> kTaken = {"", "sluice", "onnxruntime",
                                                        "onnxruntime_onnx"};
    if (std::ranges::find(kTaken, name) != kTaken.end()) return ok_status();
    return unserved(
        field, fmt::format("\"{}\" is not served; models are ONNX files or packages", shown(name)));
  }

  Result<terms::DeclaredTensor> read_tensor(const TextField& from) {
    terms::DeclaredTensor tensor;
    tensor.line = from.line;
    for (const TextField& field : from.fields) {
      if (field.name == "name") {
        tensor.name = SLUICE_TRY(text_of(field));
      } else if (field.name == "data_type") {
        tensor.element = SLUICE_TRY(read_type(field));
      } else if (field.name == "dims") {
        tensor.dims.push_back(SLUICE_TRY(int_of(field, -1, kMostNumber)));
      } else if (field.name == "format") {
        tensor.format = SLUICE_TRY(read_format(field));
      } else if (field.name == "label_filename") {
        tensor.label_filename = SLUICE_TRY(text_of(field));
      } else if (field.name == "reshape") {
        return unserved(field, "tensors keep the model's shapes");
      } else if (field.name == "allow_ragged_batch") {
        if (SLUICE_TRY(bool_of(field))) return unserved(field, "ragged batches are not served");
      } else if (field.name == "optional") {
        (void)SLUICE_TRY(bool_of(field));  // the model knows
      } else {
        ignore_unknown(field);
      }
    }
    return tensor;
  }

  /// What clients prepare images for; the model takes them as they come.
  static Result<std::string> read_format(const TextField& field) {
    if (field.value == "FORMAT_NONE") return std::string();
    if (field.value == "FORMAT_NHWC" || field.value == "FORMAT_NCHW") return field.value;
    return fail(field, Code::kInvalidArgument, "\"{}\" is no format such as FORMAT_NCHW",
                shown(field.value));
  }

  static Result<ir::ElementType> read_type(const TextField& field) {
    // The types are those of the Open Inference Protocol with a prefix, but for the text:
    // TYPE_STRING here is BYTES there.
    constexpr std::string_view kPrefix = "TYPE_";
    const std::string_view name = field.value;
    if (name == "TYPE_STRING") return ir::ElementType::kString;
    const auto type = name.starts_with(kPrefix)
                          ? open_inference::find_datatype(name.substr(kPrefix.size()))
                          : std::nullopt;
    if (type && *type != ir::ElementType::kString) return *type;
    return fail(field, Code::kInvalidArgument, "\"{}\" is no type such as TYPE_FP32", shown(name));
  }

  Status read_policy(Fields fields) {
    for (const TextField& field : fields) {
      // The last policy wins, as a field of protobuf's oneof does.
      VersionPolicy policy;
      if (field.name == "latest") {
        for (const TextField& one : field.fields) {
          if (one.name == "num_versions")
            policy.num_latest = SLUICE_TRY(int_of(one, 1, kMostNumber));
        }
      } else if (field.name == "all") {
        policy.kind = VersionPolicy::Kind::kAll;
      } else if (field.name == "specific") {
        policy.kind = VersionPolicy::Kind::kSpecific;
        for (const TextField& one : field.fields) {
          if (one.name == "versions") {
            policy.versions.push_back(SLUICE_TRY(int_of(one, 1, kMostNumber)));
          }
        }
      } else {
        ignore_unknown(field);
        continue;
      }
      config_.policy = std::move(policy);
    }
    return ok_status();
  }

  /// The instances of all groups are slots of one model.
  Status read_group(Fields fields) {
    std::int64_t count = 1;
    for (const TextField& field : fields) {
      if (field.name == "count") {
        count = SLUICE_TRY(int_of(field, 1, terms::kMaxDepth));
      } else if (field.name == "kind" && field.value == "KIND_GPU") {
        ignore(field, "the model runs where it was compiled for");
      } else if (field.name == "gpus" || field.name == "profile" || field.name == "passive" ||
                 field.name == "host_policy" || field.name == "rate_limiter" ||
                 field.name == "secondary_devices") {
        ignore(field, "has no effect here");
      } else if (field.name != "kind" && field.name != "name") {
        ignore_unknown(field);
      }
    }
    // Several groups add up: Triton would place their instances on different devices.
    const std::int64_t depth = config_.options.depth + count;
    config_.options.depth = static_cast<int>(std::min<std::int64_t>(depth, terms::kMaxDepth));
    return ok_status();
  }

  Status read_batching(Fields fields) {
    for (const TextField& field : fields) {
      if (field.name == "preferred_batch_size") {
        preferred_ = std::max(preferred_, SLUICE_TRY(int_of(field, 1, terms::kMaxBatchRows)));
      } else if (field.name == "max_queue_delay_microseconds") {
        delay_us_ = SLUICE_TRY(int_of(field, 0, kMostDelayUs));
      } else if (field.name == "default_queue_policy") {
        SLUICE_TRY(read_queue(field.fields));
      } else if (field.name == "priority_levels" || field.name == "default_priority_level" ||
                 field.name == "priority_queue_policy") {
        ignore(field, "requests have priorities without it");
      } else {
        ignore_unknown(field);
      }
    }
    return ok_status();
  }

  Status read_queue(Fields fields) {
    for (const TextField& field : fields) {
      if (field.name == "max_queue_size") {
        const auto waiting = SLUICE_TRY(int_of(field, 0, terms::kMaxWaiting));
        // 0 means Triton's default, a line without end; here the default of the daemon bounds it.
        if (waiting > 0) config_.options.queue_limit = static_cast<int>(waiting);
      } else {
        ignore(field, "a request's own timeout bounds its wait");
      }
    }
    return ok_status();
  }

  Status read_transactions(Fields fields) {
    for (const TextField& field : fields) {
      if (field.name != "decoupled") {
        ignore_unknown(field);
      } else if (SLUICE_TRY(bool_of(field))) {
        return unserved(field, "a request has one answer");
      }
    }
    return ok_status();
  }

  /// Rows are joined up to the largest preferred size, for which requests wait.
  Status finish() {
    if (!batching_) return ok_status();
    if (config_.max_batch_size == 0) {
      return fail(*batching_, Code::kInvalidArgument, "max_batch_size is missing");
    }
    // Triton's unit for the delay is the microsecond, that of the daemon the nanosecond.
    const std::int64_t most = std::min(config_.max_batch_size, terms::kMaxBatchRows);
    if (preferred_ > most) {
      return fail(*batching_, Code::kInvalidArgument,
                  "a preferred size of {} is over max_batch_size {}", preferred_, most);
    }
    config_.options.batching =
        terms::BatchOptions{preferred_ > 0 ? preferred_ : most, delay_us_ * 1000};
    return ok_status();
  }

  static void print(const TextField& field, std::string& to) {
    to += fmt::format("{}:{}{{", field.name, field.value);
    for (const TextField& inner : field.fields) print(inner, to);
    to += "}\n";
  }

  ModelConfig config_;
  std::optional<TextField> batching_;
  std::int64_t preferred_ = 0;  ///< the largest; 0: none
  std::int64_t delay_us_ = 0;
};

}  // namespace

Result<ModelConfig> read_model_config(std::string_view text) {
  const std::vector<TextField> fields = SLUICE_TRY(parse_text_format(text));
  return ConfigReader().read(fields);
}

}  // namespace sluice::repository
