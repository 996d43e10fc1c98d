// NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
#include <optional>

#include "reference/families.h"
#include "reference/kernels/nn/softmax.h"
#include "reference/kernels/support.h"

namespace sluice::reference {
namespace {

using Doubles = std::vector<double>;

/// Log-probabilities [N, C, inner...] against labels [N, inner...].
struct Labels {
  std::vector<std::int64_t> labels;
  std::size_t classes = 0, inner = 1;
  std::optional<std::int64_t> ignored;

  /// Where the log-probability of label `i` lies. Requires: it is in range.
  std::size_t position(std::size_t i) const {
    return (i / inner * classes + index(labels[i])) * inner + i % inner;
  }
};

Status read_labels(const Call& call, Labels* labels) {
  const Dims scores = input_dims(call, 0);
  const Dims given = input_dims(call, 1);
  if (scores.size() < 2 || given.size() + 1 != scores.size() || given[0] != scores[0] ||
      !std::ranges::equal(given.subspan(1), scores.subspan(2))) {
    return refuse(call, "labels " + plugin::to_string(given) + " do not fit scores " +
                            plugin::to_string(scores));
  }
  labels->classes = index(scores[1]);
  labels->inner = index(size_of(scores.subspan(2)));
  labels->labels = read_ints(call.input(1));
  if (labels->labels.size() != index(size_of(given)))
    return refuse_model(call, "labels are no integers");
  if (call.attributes().find("ignore_index", SLUICE_ATTRIBUTE_INT) != nullptr) {
    labels->ignored = call.attributes().get_int("ignore_index");
  }
  const auto classes = static_cast<std::int64_t>(labels->classes);
  for (const std::int64_t label : labels->labels) {
    if (label != labels->ignored && (label < 0 || label >= classes)) {
      return plugin::index_outside(label, 1, classes);
    }
  }
  return plugin::ok();
}

/// -log_prob[label] * weight[label], reduced as the attribute says.
Status write_loss(const Call& call, const Labels& labels, const Doubles& log_prob) {
  Doubles weights(labels.classes, 1.0);
  if (call.has_input(2)) weights = read_doubles(call.input(2));
  if (weights.size() != labels.classes) return refuse(call, "weight needs an element per class");
  Doubles losses(labels.labels.size(), 0.0);
  double sum = 0;
  double total_weight = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (labels.labels[i] == labels.ignored) continue;
    const double weight = weights[index(labels.labels[i])];
    losses[i] = -log_prob[labels.position(i)] * weight;
    sum += losses[i];
    total_weight += weight;
  }
  const std::string_view reduction = call.attributes().get_text("reduction", "mean");
  if (reduction == "none") return write_doubles(call, 0, losses);
  // 0 / 0, a NaN, if all labels are ignored.
  return write_doubles(call, 0, std::array{reduction == "sum" ? sum : sum / total_weight});
}

Status run_negative_log_likelihood(const Call& call) {
  Labels labels;
  if (Status status = read_labels(call, &labels); !status.is_ok()) return status;
  const Doubles log_prob = read_doubles(call.input(0));
  if (log_prob.size() != index(size_of(input_dims(call, 0))))
    return refuse_model(call, "unknown type");
  return write_loss(call, labels, log_prob);
}

Status run_softmax_cross_entropy(const Call& call) {
  Labels labels;
  if (Status status = read_labels(call, &labels); !status.is_ok()) return status;
  Doubles scores = read_doubles(call.input(0));
  if (scores.size() != index(size_of(input_dims(call, 0))))
    return refuse_model(call, "unknown type");
  Doubles line(labels.classes);
  for (std::size_t i = 0; i < labels.labels.size(); ++i) {
    const std::size_t first = i / labels.inner * labels.classes * labels.inner + i % labels.inner;
    for (std::size_t c = 0; c < line.size(); ++c) line[c] = scores[first + c * labels.inner];
    log_softmax(line);
    for (std::size_t c = 0; c < line.size(); ++c) scores[first + c * labels.inner] = line[c];
  }
  Status status = write_loss(call, labels, scores);
  if (status.is_ok() && call.has_output(1)) status = write_doubles(call, 1, scores);
  return status;
}

}  // namespace

std::vector<KernelEntry> loss_kernels() {
  return {{.kind = "NegativeLogLikelihoodLoss", .run = run_negative_log_likelihood},
          {.kind = "SoftmaxCrossEntropyLoss", .run = run_softmax_cross_entropy}};
}

}  // namespace sluice::reference
