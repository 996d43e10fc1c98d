// A loaded model with its pool of contexts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calls/cancellation.h"
#include "calls/errors.h"
#include "calls/path.h"
#include "calls/process.h"
#include "states/kept_context.h"
#include "tensors.h"

namespace sluice::python {

/// Any thread may call it: every run takes a context of its own from the pool. Runs release the
/// GIL. Calls in a forked child fail, and destruction there leaks: the worker threads of the model
/// do not exist.
class NativeModel {
 public:
  NativeModel(const Path& path, std::int32_t num_threads, const std::vector<std::int32_t>& cores,
              const Path& backend_dir, std::int64_t max_recorded_bytes,
              std::optional<std::uint64_t> seed);
  ~NativeModel();
  NativeModel(const NativeModel&) = delete;
  NativeModel& operator=(const NativeModel&) = delete;

  /// A tuple (name, type, element type, shape or None, batch axis) per tensor.
  nb::list inputs() const;
  nb::list outputs() const;
  /// Facts about the model and its source.
  nb::dict metadata() const;

  /// Inputs in order of the signature: numpy arrays as `view_numpy_array` reads them; None, or no
  /// argument, stands for a default. The output, or a tuple of several. No object, and no run, if
  /// an argument or an output needs conversion: the caller converts and calls `run`.
  nb::object call_arrays(const nb::handle& arguments);
  /// As `call_arrays`, with None for a missing object.
  nb::object call(const nb::args& arguments);

  /// `inputs`: one per input, as read_input takes them, or None for its default. `out`: None, or an
  /// array to write to or None per output. Returns a list with one entry per output, None where
  /// `wanted` is false or `out` has an array. A run ends after `timeout_ns`, 0 for none, and by
  /// `cancellation`, which may be null, as sluice_context_run_with says.
  nb::list run(const nb::list& inputs, const std::vector<bool>& wanted, const nb::object& out,
               std::int64_t timeout_ns, Cancellation* cancellation);

  /// As `run` of a model with states, whose arrays are among `inputs` and `out`, and are the same
  /// in all calls. States that stay on a device are those of a context of their own; a model
  /// without any runs in a context of the pool.
  nb::list run_kept(KeptStates& kept, const nb::list& inputs, const std::vector<bool>& wanted,
                    const nb::object& out, Cancellation* cancellation);

  /// A run on tensors in memory of a device of a backend: tuples (address, bytes, element type,
  /// shape) of inputs, None for a default, and (address, bytes) of outputs, in order, as
  /// sluice_context_set_device_input and sluice_context_bind_device_output take them.
  void run_on_device(const nb::list& inputs, const nb::list& outputs, const std::string& backend,
                     std::int32_t device);

  /// Random operators of the runs that follow start from `seed`.
  void set_seed(std::uint64_t seed);

  /// Bytes of inputs and outputs that runs have copied.
  std::int64_t copied_bytes() const { return copied_bytes_; }
  /// Bytes of contexts that no call uses now, those of sessions with kept states among them.
  std::int64_t recorded_bytes();

  /// Calls `function` with the handle, which stays open meanwhile. Fails on a closed model, and in
  /// a forked child.
  template <typename Function>
  void use(Function function) {
    require_process(generation_);
    const std::lock_guard lock(mutex_);
    if (model_ == nullptr) throw Failure(Code::kFailedPrecondition, "the model is closed");
    function(model_);
  }

  /// Frees the model; later calls fail. Runs under way finish first.
  void close();

 private:
  /// The model's own copy: specs of the library live as long as its handle.
  struct Spec {
    std::string name;
    std::string type;
    std::int32_t element_type = 0;
    std::int32_t rank = -1;
    std::vector<std::int64_t> dims;
    std::int32_t batch_axis = -1;
    bool has_default = false;

    bool is_static() const;
    bool is_tensor() const { return element_type != 0; }
  };
  /// For call_arrays: tensors of numpy's types alone, no output that is better bound than copied.
  bool is_plain() const;
  /// call_arrays of a model that is not plain, at three times the cost.
  nb::object call_bound(const nb::handle& arguments);
  nb::object read_output(sluice_context* context, std::size_t index);

  ContextPointer take_context();
  void return_context(ContextPointer context);
  /// What becomes of the outputs; empty vectors: all are wanted, none has memory of the caller.
  struct Destination {
    std::vector<bool> wanted;
    std::vector<WriteArray> memory;

    bool wants(std::size_t i) const { return wanted.empty() || wanted[i]; }
    bool places(std::size_t i) const { return !memory.empty() && memory[i].is_valid(); }
  };

  std::vector<OutputTensor> execute(const std::vector<InputTensor>& inputs,
                                    const Destination& destination, std::int64_t timeout_ns,
                                    Cancellation* cancellation);
  void set_input(sluice_context* context, std::size_t index, const InputTensor& input) const;
  /// Copies a sequence, or an optional, which has no element or one.
  void copy_elements(sluice_context* context, std::size_t index, OutputTensor& output) const;
  void run_in(sluice_context* context, const std::vector<InputTensor>& inputs,
              const Destination& destination, std::int64_t timeout_ns,
              std::vector<OutputTensor>& outputs, KeptContext* states = nullptr);
  void set_inputs(sluice_context* context, const std::vector<InputTensor>& inputs,
                  KeptContext* states) const;
  void keep_states(sluice_context* context, const KeptContext& states) const;
  /// As `execute`, without the GIL.
  std::vector<OutputTensor> execute_released(const std::vector<InputTensor>& inputs,
                                             const Destination& destination,
                                             std::int64_t timeout_ns, Cancellation* cancellation);
  /// With the lock of `states`: a context for them, unless no state of the model stays anywhere.
  bool take_kept(const std::shared_ptr<KeptContext>& states);
  /// With that lock: gives the context to the pool if no state of it lies on a device.
  void give_back_unkept(KeptContext& states);
  std::vector<std::shared_ptr<KeptContext>> kept_contexts();
  void bind_outputs(sluice_context* context, const Destination& destination,
                    std::vector<OutputTensor>& outputs);
  void read_result(sluice_context* context, std::size_t index, const Destination& destination,
                   OutputTensor& output);
  Destination read_destination(const std::vector<bool>& wanted, const nb::object& out) const;
  std::vector<InputTensor> read_inputs(const nb::list& inputs) const;
  nb::list list_outputs(const Destination& destination, std::vector<OutputTensor> outputs) const;
  std::vector<OutputTensor> execute_kept(const std::shared_ptr<KeptContext>& states,
                                         const std::vector<InputTensor>& inputs,
                                         const Destination& destination,
                                         Cancellation* cancellation);
  /// For the C interface, which needs no name of a model's only tensor.
  static const char* name_of(const std::vector<Spec>& specs, std::size_t i) {
    return specs.size() == 1 ? nullptr : specs[i].name.c_str();
  }
  static Spec copy(const sluice_tensor_spec& spec);
  static nb::list describe(const std::vector<Spec>& specs);

  std::uint32_t generation_ = fork_generation();
  std::mutex mutex_;  // of `model_`, `idle_` and `kept_`
  sluice_model* model_ = nullptr;
  std::vector<ContextPointer> idle_;
  std::vector<std::weak_ptr<KeptContext>> kept_;
  std::atomic<bool> may_keep_ = true;  // false: a run has left no state on a device
  std::vector<Spec> inputs_;
  std::vector<Spec> outputs_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  bool is_plain_ = false;
  std::atomic<std::int64_t> copied_bytes_ = 0;
};

void bind_model(nb::module_& module);

}  // namespace sluice::python
