#include "description/fault.h"

#include <algorithm>
#include <iterator>

namespace sluice::sim {
namespace {

const std::vector<const char*>& kind_names() {
  static const std::vector<const char*> kNames = {"slow_core",   "failed_kernel",
                                                  "hung_kernel", "failed_copy",
                                                  "lost_device", "memory_exhausted"};
  return kNames;
}

/// gRPC's names, by number.
const std::vector<const char*>& code_names() {
  static const std::vector<const char*> kNames = {"OK",
                                                  "CANCELLED",
                                                  "UNKNOWN",
                                                  "INVALID_ARGUMENT",
                                                  "DEADLINE_EXCEEDED",
                                                  "NOT_FOUND",
                                                  "ALREADY_EXISTS",
                                                  "PERMISSION_DENIED",
                                                  "RESOURCE_EXHAUSTED",
                                                  "FAILED_PRECONDITION",
                                                  "ABORTED",
                                                  "OUT_OF_RANGE",
                                                  "UNIMPLEMENTED",
                                                  "INTERNAL",
                                                  "UNAVAILABLE",
                                                  "DATA_LOSS",
                                                  "UNAUTHENTICATED"};
  return kNames;
}

bool is_event(FaultKind kind) {
  // The other two are states, which hold from a time on.
  return kind != FaultKind::kSlowCore && kind != FaultKind::kLostDevice;
}
bool is_kernel(FaultKind kind) {
  return kind == FaultKind::kFailedKernel || kind == FaultKind::kHungKernel;
}
bool has_code(FaultKind kind) {
  return kind == FaultKind::kFailedKernel || kind == FaultKind::kFailedCopy;
}

void read_failure(ObjectReader& reader, Fault& fault) {
  int code = fault.code;
  reader.one_of("code", code_names(), &code);
  reader.check(code != SLUICE_OK, "code", "a failure cannot be OK");
  fault.code = code;
  reader.text("message", &fault.message);
}

}  // namespace

const char* name_of(FaultKind kind) { return kind_names()[static_cast<std::size_t>(kind)]; }

Fault read_fault(const Json& json, const std::string& path, int num_devices, Status* status) {
  ObjectReader reader(json, path, status);
  Fault fault;
  int kind = 0;
  reader.require("kind");
  reader.one_of("kind", kind_names(), &kind);
  fault.kind = static_cast<FaultKind>(kind);
  reader.integer("device", 0, num_devices - 1, &fault.device);
  reader.integer("from_ns", 0, INT64_MAX / 2, &fault.from_ns);
  if (fault.kind == FaultKind::kSlowCore) {
    reader.integer("core", 0, 1 << 20, &fault.core);
    reader.require("factor");
    reader.number("factor", 1e-3, 1e6, &fault.factor);
  }
  if (fault.kind == FaultKind::kLostDevice) reader.require("device");
  if (is_event(fault.kind)) {
    reader.integer("nth", 1, INT64_MAX / 2, &fault.nth);
    reader.integer("count", 0, INT64_MAX / 2, &fault.count);
  }
  if (is_kernel(fault.kind)) {
    reader.text("operator", &fault.operator_kind);
    reader.text("node", &fault.node);
  }
  if (has_code(fault.kind)) read_failure(reader, fault);
  reader.finish();
  return fault;
}

std::int64_t FaultTable::add(Fault fault) {
  fault.id = next_id_++;
  faults_.push_back(std::move(fault));
  return faults_.back().id;
}

bool FaultTable::remove(std::int64_t id) {
  return std::erase_if(faults_, [&](const Fault& f) { return id == -1 || f.id == id; }) > 0 ||
         id == -1;
}

void FaultTable::remove_losses_of(int device) {
  std::erase_if(faults_, [&](const Fault& fault) {
    return fault.kind == FaultKind::kLostDevice && fault.device == device;
  });
}

const Fault* FaultTable::hit(FaultKind kind, const FaultTarget& target, std::int64_t now_ns) {
  const Fault* first = nullptr;
  for (Fault& fault : faults_) {
    const bool matches =
        fault.kind == kind && now_ns >= fault.from_ns &&
        (fault.device == -1 || fault.device == target.device) &&
        (fault.operator_kind.empty() || fault.operator_kind == target.operator_kind) &&
        (fault.node.empty() || fault.node == target.node);
    if (!matches) continue;
    ++fault.seen;
    // Counts from the nth event that matches on; a count of 0 is all that follow.
    const bool is_hit =
        fault.seen >= fault.nth && (fault.count == 0 || fault.seen - fault.nth < fault.count);
    if (is_hit && first == nullptr) first = &fault;
  }
  return first;
}

double FaultTable::slowness(int device, const std::vector<int>& cores, std::int64_t now_ns) const {
  double factor = 1;
  for (const Fault& fault : faults_) {
    const bool is_here = fault.core == -1 || std::ranges::find(cores, fault.core) != cores.end();
    if (fault.kind == FaultKind::kSlowCore && now_ns >= fault.from_ns && is_here &&
        (fault.device == -1 || fault.device == device)) {
      // The first that matches replaces the 1: a factor below it makes cores faster.
      factor = factor == 1 ? fault.factor : std::max(factor, fault.factor);
    }
  }
  return factor;
}

}  // namespace sluice::sim
