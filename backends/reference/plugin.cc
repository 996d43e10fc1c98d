// The plug-in `reference`: the reference kernels behind the C table.
#include "reference/kernels.h"

namespace sluice::reference {
namespace {

class ReferenceBackend : public plugin::HostBackend {
 public:
  ReferenceBackend() : HostBackend({}) {}

  std::string device_name() const override { return "plain C++, one thread"; }
  Status check(const sluice_op& op) const override { return check_op(op); }
  Status make_kernel(const sluice_op& op,
                     std::unique_ptr<plugin::HostKernel>* kernel) const override {
    return reference::make_kernel(op, kernel);
  }
};

}  // namespace
}  // namespace sluice::reference

SLUICE_HOST_BACKEND(sluice::reference::ReferenceBackend, "reference", "0.1")
