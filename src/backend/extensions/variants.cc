#include "backend/extensions/variants.h"

#include "backend/handle.h"
#include "backend/handshake.h"

namespace sluice::backend {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::size_t kMaxVariants = 64;

struct Found {
  std::vector<std::string> names;
  bool is_broken = false;
};

// No exception may pass the plug-in that calls it.
void visit(void* user, const char* name) noexcept {
  auto& found = *static_cast<Found*>(user);
  auto text = bounded_text(name, kLongestName);
  if (!text || text->empty() || found.names.size() == kMaxVariants) {
    found.is_broken = true;
    return;
  }
  found.names.push_back(*std::move(text));
}

/// Null where the plug-in has no such extension, or an incomplete one.
Result<const sluice_variants*> variants_of(const Backend& backend) {
  const auto* table = SLUICE_TRY(backend.find_table<sluice_variants>(SLUICE_VARIANTS));
  const bool is_whole =
      table != nullptr && table->list != nullptr && table->run_steadily != nullptr;
  return is_whole ? table : nullptr;
}

void run_steadily(const Backend& backend, std::int32_t steady) {
  const auto table = variants_of(backend);
  if (!table.is_ok() || *table == nullptr) return;
  const Status status = call_plugin(backend.name(), [&](sluice_message*) {
    (*table)->run_steadily(backend.handle(), steady);
    return SLUICE_OK;
  });
  (void)status;  // best effort: without it measurements are noisier
}

}  // namespace

SteadyRuns::SteadyRuns(const Backend& backend) : backend_(backend) { run_steadily(backend_, 1); }

SteadyRuns::~SteadyRuns() { run_steadily(backend_, 0); }

Result<std::vector<std::string>> list_variants(const Backend& backend, const Op& op,
                                               int num_cores) {
  const sluice_variants* table = SLUICE_TRY(variants_of(backend));
  if (table == nullptr) return std::vector<std::string>();
  Found found;
  SLUICE_TRY(call_plugin(backend.name(), table->list, backend.handle(), &op.get(), num_cores, visit,
                         &found)
                 .with_context(op.describe()));
  if (found.is_broken) {
    return internal_error("backend \"{}\" lists tactics of {} without a name or an end",
                          backend.name(), op.describe());
  }
  return std::move(found.names);
}

}  // namespace sluice::backend
