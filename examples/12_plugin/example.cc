// The backend "example": it knows Softmax and Relu on floats, and leaves the rest to others.
#include "kernels.hpp"

namespace {

class ExampleBackend : public sluice::plugin::HostBackend {
 public:
  ExampleBackend() : HostBackend(example::kKernels) {}
  std::string device_name() const override { return "example of a plug-in"; }
};

}  // namespace

SLUICE_HOST_BACKEND(ExampleBackend, "example", "1.0")
