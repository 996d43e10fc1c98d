#include "sluice/model/generic_kernels.h"

#include "sluice/model/model_source.h"

namespace sluice::tool {

GenericKernels::GenericKernels(const package::Executable& executable) : executable_(executable) {
  for (const std::string& name : executable.backends) {
    auto found = backend_registry().find(name);
    backends_.push_back(found.is_ok() ? std::move(found).value() : nullptr);
  }
}

bool GenericKernels::run(const ir::Subgraph& subgraph, const ir::Operation& operation,
                         std::int16_t backend) const {
  if (backend < 0 || backends_[static_cast<std::size_t>(backend)] == nullptr) return false;
  const auto op = backend::Op::create({executable_.graph, subgraph, operation});
  if (!op.is_ok()) return false;
  const auto support = backends_[static_cast<std::size_t>(backend)]->query(*op);
  return support.is_ok() && support->is_generic;
}

}  // namespace sluice::tool
