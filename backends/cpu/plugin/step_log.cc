#include "plugin/step_log.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string_view>

namespace sluice::cpu {
namespace {

/// Enough for a median; later runs are dropped.
constexpr std::size_t kMaxSamples = 4096;

/// A JSON string. Names come from the model, so they may hold any byte.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += '\\';
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return out + '"';
}

std::string dims_text(const sluice_tensor& tensor) {
  std::string out = "[";
  for (const std::int64_t dim : plugin::dims_of(tensor)) {
    if (out.size() > 1) out += ',';
    out += std::to_string(dim);
  }
  return out + ']';
}

std::string all_dims(std::span<const sluice_operand> operands) {
  std::string out = "[";
  for (const sluice_operand& operand : operands) {
    if (out.size() > 1) out += ',';
    out += dims_text(operand.tensor);
  }
  return out + ']';
}

std::int64_t all_bytes(std::span<const sluice_operand> operands) {
  std::int64_t bytes = 0;
  for (const sluice_operand& operand : operands) {
    bytes += std::max(operand.packed_bytes, operand.tensor.size_bytes);
  }
  return bytes;
}

}  // namespace

std::string full_kind(const sluice_op& op) {
  std::string kind = plugin::kind_of(op);
  if (op.body == nullptr) return kind;
  for (int i = 0; i < op.body->num_steps; ++i) {
    kind += '+';
    kind += op.body->steps[i].kind;
  }
  return kind;
}

std::unique_ptr<StepLog> StepLog::create_if_wanted() {
  static const char* const path = std::getenv("SLUICE_CPU_STEP_TIMES");
  return path == nullptr ? nullptr : std::make_unique<StepLog>(path);
}

StepLog::StepLog(std::string path) : path_(std::move(path)) {
  // Lists of several models may log to one file: their numbers tell them apart.
  static std::atomic<int> lists{0};
  list_ = lists++;
}

StepLog::~StepLog() { std::ofstream(path_, std::ios::app) << lines(); }

void StepLog::add_step(const sluice_op& op) {
  const std::span inputs(op.inputs, static_cast<std::size_t>(op.num_inputs));
  const std::span outputs(op.outputs, static_cast<std::size_t>(op.num_outputs));
  const std::span extra(op.body_inputs, static_cast<std::size_t>(op.num_body_inputs));
  steps_.push_back({"\"op\":" + quoted(full_kind(op)) + ",\"name\":" + quoted(op.name) +
                        ",\"inputs\":" + all_dims(inputs) + ",\"outputs\":" + all_dims(outputs) +
                        ",\"bytes\":" +
                        std::to_string(all_bytes(inputs) + all_bytes(outputs) + all_bytes(extra)),
                    {}});
}

void StepLog::add_copy(std::int64_t size_bytes) {
  steps_.push_back({"\"op\":\"copy\",\"name\":\"\",\"inputs\":[],\"outputs\":[],\"bytes\":" +
                        std::to_string(2 * size_bytes),
                    {}});
}

void StepLog::add_run(const StepTimes& times) {
  workers_ = times.workers();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    std::vector<float>& samples = steps_[i].nanoseconds;
    if (samples.size() == kMaxSamples) continue;
    samples.push_back(static_cast<float>(times.steps()[i].duration_ns));
  }
}

std::string StepLog::lines() const {
  std::string out;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    std::vector<float> sorted = steps_[i].nanoseconds;
    if (sorted.empty()) continue;
    std::sort(sorted.begin(), sorted.end());
    out += "{\"list\":" + std::to_string(list_) + ",\"step\":" + std::to_string(i) +
           ",\"workers\":" + std::to_string(workers_) + ',' + steps_[i].description +
           ",\"runs\":" + std::to_string(sorted.size()) +
           ",\"median_ns\":" + std::to_string(sorted[sorted.size() / 2]) +
           ",\"least_ns\":" + std::to_string(sorted[0]) + "}\n";
  }
  return out;
}

}  // namespace sluice::cpu
