#include "repository/config/model_config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/text/number.h"
#include "base/utf8.h"
#include "repository/config/traffic_text.h"
#include "repository/scheduling/ensemble.h"
#include "repository/scheduling/sequences.h"
#include "repository/text_format/field.h"
#include "repository/text_format/text_format.h"

namespace sluice::repository {
namespace {

/// Limits of numbers in a configuration, which a client may send: a delay of more than an hour is a
/// slip.
constexpr std::int64_t kMostNumber = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostDelayUs = 3'600'000'000;  // an hour
constexpr std::size_t kMaxWarnings = 64;
constexpr std::size_t kMaxTensors = 1024;  // inputs, and outputs

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
  static constexpr std::array<std::string_view, 16> kIgnored = {"optimization",
                                                                "metric_tags",
                                                                "model_warmup",
                                                                "runtime",
                                                                "model_operations",
                                                                "model_metrics",
                                                                "cc_model_filenames",
                                                                "is_shape_tensor",
                                                                "is_non_linear_format_io",
                                                                "preserve_ordering",
                                                                "max_inflight_requests",
                                                                "model_namespace",
                                                                "minimum_slot_utilization",
                                                                "preferred_batch_size",
                                                                "use_same_buffer_for_input_output",
                                                                "use_growable_memory"};

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
    } else if (name == "ensemble_scheduling") {
      ensemble_ = field;
    } else if (name == "sequence_batching") {
      sequences_ = field;
    } else if (name == "parameters") {
      return read_parameter(field);
    } else if (name == "model_transaction_policy") {
      return read_transactions(field.fields);
    } else if (name == "response_cache") {
      cache_ = field;
      return read_cache(field.fields);
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
    if (is_traffic(key)) {
      return read_traffic(key, value, config_.traffic)
          .with_context(fmt::format("line {}: {}", entry.line, key));
    }
    if (key == "intra_op_thread_count") {
      SLUICE_TRY(read_cores(entry, value));
    } else {
      ignore(entry, "has no effect here");
    }
    print(entry, config_.load_text);
    config_.parameters[key] = value;
    return ok_status();
  }

  /// The onnxruntime backend of other servers reads 0 as all threads.
  Status read_cores(const TextField& entry, const std::string& value) {
    const auto cores = to_number<int>(value);
    if (!cores || *cores < 0 || *cores > terms::kMaxCores) {
      return fail(entry, Code::kInvalidArgument, "\"{}\" is no number of threads", value);
    }
    config_.options.cores = cores;
    return ok_status();
  }

  Status read_unserved(const TextField& field) {
    const std::string_view name = field.name;
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
    constexpr std::array<std::string_view, 5> kTaken = {"", "sluice", "onnxruntime",
                                                        "onnxruntime_onnx", kEnsemblePlatform};
    if (name == kEnsemblePlatform) platform_ = field;
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
        tensor.element = SLUICE_TRY(type_of(field));
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
      } else if (field.name == "priority_levels") {
        config_.num_priorities = SLUICE_TRY(int_of(field, 0, kMostNumber));
      } else if (field.name == "default_priority_level") {
        config_.default_priority = SLUICE_TRY(int_of(field, 0, kMostNumber));
      } else if (field.name == "priority_queue_policy") {
        ignore(field, "the default_queue_policy holds for all levels");
      } else {
        ignore_unknown(field);
      }
    }
    return ok_status();
  }

  Status read_queue(Fields fields) {
    std::int64_t timeout_us = 0;
    const TextField* delay = nullptr;
    for (const TextField& field : fields) {
      if (field.name == "max_queue_size") {
        const auto waiting = SLUICE_TRY(int_of(field, 0, terms::kMaxWaiting));
        // 0 means Triton's default, a line without end; here the default of the daemon bounds it.
        if (waiting > 0) config_.options.queue_limit = static_cast<int>(waiting);
      } else if (field.name == "default_timeout_microseconds") {
        timeout_us = SLUICE_TRY(int_of(field, 0, kMostDelayUs));
      } else if (field.name == "timeout_action") {
        const bool is_delay = field.value == "DELAY";
        if (!is_delay && field.value != "REJECT") {
          return fail(field, Code::kInvalidArgument, "\"{}\" is neither REJECT nor DELAY",
                      shown(field.value));
        }
        if (is_delay) delay = &field;
      } else if (field.name == "allow_timeout_override") {
        const bool is_allowed = SLUICE_TRY(bool_of(field));
        if (!is_allowed) ignore(field, "a request's own timeout counts");
      } else {
        ignore_unknown(field);
      }
    }
    if (delay != nullptr) {
      ignore(*delay, "a request keeps its place, however long it waits");
    } else {
      config_.options.request_timeout_ns = timeout_us * 1000;
    }
    return ok_status();
  }

  Status read_transactions(Fields fields) {
    for (const TextField& field : fields) {
      if (field.name != "decoupled") {
        ignore_unknown(field);
      } else if (SLUICE_TRY(bool_of(field))) {
        ignore(field, "models of texts alone have several answers");
      }
    }
    return ok_status();
  }

  Status read_cache(Fields fields) {
    for (const TextField& field : fields) {
      if (field.name == "enable") {
        config_.keeps_replies = SLUICE_TRY(bool_of(field));
      } else {
        ignore_unknown(field);
      }
    }
    return ok_status();
  }

  Status finish() {
    if (ensemble_) return finish_ensemble();
    if (sequences_) return finish_sequences();
    if (platform_) {
      return fail(*platform_, Code::kInvalidArgument, "ensemble_scheduling is missing");
    }
    return batching_ ? finish_batching() : ok_status();
  }

  Status finish_ensemble() {
    if (batching_) {
      return fail(*batching_, Code::kInvalidArgument,
                  "an ensemble joins no requests; its models do");
    }
    if (sequences_) {
      return fail(*sequences_, Code::kInvalidArgument, "an ensemble has none; its models do");
    }
    // A model of the ensemble may be loaded anew, and no answer of the old one may stay.
    if (cache_) ignore(*cache_, "the models of the ensemble keep their answers");
    config_.keeps_replies = false;
    config_.platform = kEnsemblePlatform;
    config_.backend.clear();
    config_.steps = SLUICE_TRY(
        read_ensemble(*ensemble_, [&](const TextField& field) { ignore_unknown(field); }));
    return graph_of(config_).status();
  }

  /// Requests of different sequences are rows of one run, as far as max_batch_size says.
  Status finish_sequences() {
    if (batching_) {
      return fail(*batching_, Code::kInvalidArgument, "the model has sequence_batching, too");
    }
    if (!config_.traffic.shares.empty() || config_.traffic.shadow) {
      return fail(*sequences_, Code::kInvalidArgument,
                  "the requests of a sequence stay with one version: leave version_weights and "
                  "shadow_version out");
    }
    if (config_.keeps_replies) {
      return fail(*cache_, Code::kInvalidArgument,
                  "an answer of a sequence depends on the requests before it, so none is kept");
    }
    SequenceBatching read = SLUICE_TRY(
        read_sequences(*sequences_, [&](const TextField& field) { ignore_unknown(field); }));
    config_.sequences = std::move(read.rules);
    const std::int64_t rows = std::min(config_.max_batch_size, terms::kMaxBatchRows);
    if (rows > 1) config_.options.batching = terms::BatchOptions{rows, read.max_delay_us * 1000};
    return ok_status();
  }

  /// Rows are joined up to the largest preferred size, for which requests wait.
  Status finish_batching() {
    if (config_.max_batch_size == 0) {
      return fail(*batching_, Code::kInvalidArgument, "max_batch_size is missing");
    }
    if (config_.num_priorities > 0 && config_.default_priority > config_.num_priorities) {
      return fail(*batching_, Code::kInvalidArgument,
                  "default_priority_level {} is over priority_levels {}", config_.default_priority,
                  config_.num_priorities);
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
  std::optional<TextField> ensemble_;
  std::optional<TextField> sequences_;
  std::optional<TextField> cache_;
  std::optional<TextField> platform_;  ///< the field that says it is an ensemble
  std::int64_t preferred_ = 0;         ///< the largest; 0: none
  std::int64_t delay_us_ = 0;
};

}  // namespace

Result<ModelConfig> read_model_config(std::string_view text) {
  const std::vector<TextField> fields = SLUICE_TRY(parse_text_format(text));
  return ConfigReader().read(fields);
}

}  // namespace sluice::repository
