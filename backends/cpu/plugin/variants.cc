#include "plugin/variants.h"

#include "plugin/backend.h"

namespace sluice::cpu {
namespace {

/// Set by the thread that submits lists.
thread_local bool t_is_steady = false;

sluice_code list(sluice_backend* backend, const sluice_op* op, std::int32_t num_cores,
                 sluice_variant_visitor visit, void* user, sluice_message* message) {
  return plugin::guard(message, [&] {
    const auto& self = *reinterpret_cast<const Backend*>(backend);
    for (const std::string& name : self.tactics(*op, num_cores)) visit(user, name.c_str());
    return plugin::ok();
  });
}

void run_steadily(sluice_backend* /*backend*/, std::int32_t steady) { t_is_steady = steady != 0; }

}  // namespace

const sluice_variants kVariants = {sizeof(sluice_variants), 0, list, run_steadily};

bool runs_steadily() { return t_is_steady; }

}  // namespace sluice::cpu
