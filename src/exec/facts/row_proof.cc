#include "exec/facts/row_proof.h"

#include "ops/rows/prove_rows.h"

namespace sluice::exec {

Status prove_rows(const package::Executable& executable) {
  return ops::prove_rows(executable.graph);
}

}  // namespace sluice::exec
