// FindKey among constant keys: the table is made once, rows are shared among workers.
#include "plugin/registry.h"
#include "reference/kernels/ml/key_table.h"

namespace sluice::cpu {
namespace {

using plugin::unimplemented;

Status check_find_key(const sluice_op& op) {
  if (op.body != nullptr) return unimplemented("fused body");
  const sluice_operand& keys = op.inputs[1];
  if (keys.is_constant == 0 || keys.tensor.data == nullptr)
    return unimplemented("keys that change");
  if (!reference::contains(reference::kKeyTypes, keys.tensor.element_type) ||
      op.inputs[0].tensor.element_type != keys.tensor.element_type) {
    return unimplemented("keys of that type");
  }
  if (plugin::Attributes(op).get_int("must_find") != 0) return unimplemented("keys to be found");
  return plugin::ok();
}

template <typename T>
class FindKey : public Kernel {
 public:
  explicit FindKey(const sluice_op& op)
      : Kernel(op),
        table_(plugin::elements<const T>(op.inputs[1].tensor)),
        count_(plugin::num_elements(plugin::dims_of(op.inputs[0].tensor))) {}

  void run(const Run& run, int, const Worker& worker) const override {
    const Share share = share_of(count_, 8, worker);
    const T* x = run.input<T>(0);
    auto* places = run.output<std::int64_t>(0);
    for (std::int64_t i = share.begin; i < share.end; ++i) places[i] = table_.find(x[i]);
  }
  void extents(Extents& extents) const override {
    extents.reads(0, {count_, sizeof(T)});
    extents.writes(0, {count_, sizeof(std::int64_t)});
  }
  double cost_ns() const override { return static_cast<double>(count_) * 30; }

 private:
  reference::KeyTable<T> table_;
  std::int64_t count_;
};

Status make_find_key(const sluice_op& op, Isa, std::unique_ptr<Kernel>* kernel) {
  return reference::dispatch(reference::kKeyTypes, op.inputs[1].tensor.element_type,
                             [&]<typename T>() {
                               *kernel = std::make_unique<FindKey<T>>(op);
                               return plugin::ok();
                             });
}

}  // namespace

std::vector<OpEntry> find_key_entries() {
  return {{.domain = "sluice",
           .kind = "FindKey",
           .check = check_find_key,
           .make = make_find_key,
           .num_required_inputs = 2}};
}

}  // namespace sluice::cpu
