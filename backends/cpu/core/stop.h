#pragma once

namespace sluice::cpu {

/// Whether the run of this thread shall end; false outside a run. A kernel of long loops looks
/// between tiles or rows, and then may leave its output as it is; it derives from LooksAtStop. The
/// list runs other kernels in pieces.
bool is_stopped();

/// Base of kernels that look at `is_stopped` at least every few milliseconds.
class LooksAtStop {
 protected:
  ~LooksAtStop() = default;
};

}  // namespace sluice::cpu
