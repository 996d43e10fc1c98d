#include "model.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "calls/errors.h"
#include "numpy/numpy_arrays.h"

namespace sluice::python {
namespace {

/// Below this size a copy costs less than binding memory to the output.
constexpr std::int64_t kBindFromBytes = 16 << 10;
/// Inputs that call_arrays takes at most.
constexpr std::size_t kMaxArrays = 32;
/// More idle contexts than a machine runs at a time only hold memory.
constexpr std::size_t kMaxIdle = 64;

std::int64_t storage_bytes(std::int32_t element_type, const std::vector<std::int64_t>& dims) {
  std::int64_t size = numpy_bits(element_type) / 8;
  for (const std::int64_t dim : dims) size *= dim;
  return size;
}

void describe_output(OutputTensor& output, const sluice_array& view) {
  output.size_bytes = view.size_bytes;
  output.element_type = view.element_type;
  output.dims.assign(view.dims, view.dims + view.rank);
}

void copy_to(OutputTensor& output, const sluice_array& view) {
  describe_output(output, view);
  output.memory = allocate(view.size_bytes);
  std::memcpy(output.memory.get(), view.data, static_cast<std::size_t>(view.size_bytes));
}

/// A tuple (address, bytes, element type, shape) or (address, bytes).
struct DeviceTensor {
  explicit DeviceTensor(const nb::tuple& parts)
      : data(reinterpret_cast<void*>(nb::cast<std::uintptr_t>(parts[0]))),
        size_bytes(nb::cast<std::int64_t>(parts[1])) {
    if (parts.size() < 4) return;
    element_type = nb::cast<std::int32_t>(parts[2]);
    for (const nb::handle dim : nb::cast<nb::tuple>(parts[3])) {
      dims.push_back(nb::cast<std::int64_t>(dim));
    }
  }

  sluice_array view() const {
    return {data, size_bytes, element_type, static_cast<std::int32_t>(dims.size()), dims.data()};
  }

  void* data;
  std::int64_t size_bytes;
  std::int32_t element_type = 0;
  std::vector<std::int64_t> dims;
};

}  // namespace

bool NativeModel::Spec::is_static() const {
  return rank >= 0 && std::ranges::all_of(dims, [](std::int64_t dim) { return dim >= 0; });
}

NativeModel::Spec NativeModel::copy(const sluice_tensor_spec& spec) {
  const std::size_t rank = spec.rank > 0 ? static_cast<std::size_t>(spec.rank) : 0;
  return {spec.name,
          spec.type,
          spec.element_type,
          spec.rank,
          {spec.dims, spec.dims + rank},
          spec.batch_axis,
          spec.has_default != 0};
}

NativeModel::NativeModel(const Path& path, std::int32_t num_threads,
                         const std::vector<std::int32_t>& cores, const Path& backend_dir,
                         std::int64_t max_recorded_bytes, std::optional<std::uint64_t> seed) {
  sluice_open_options options = {};
  options.struct_size = sizeof(options);
  options.num_threads = num_threads;
  options.cores = cores.data();
  options.num_cores = static_cast<std::int32_t>(cores.size());
  if (!backend_dir.bytes.empty()) options.backend_dir = backend_dir.bytes.c_str();
  options.max_recorded_bytes = max_recorded_bytes;
  options.has_seed = seed ? 1 : 0;
  options.seed = seed.value_or(0);
  {
    const nb::gil_scoped_release released;
    check(sluice_model_open(path.bytes.c_str(), &options, &model_));
  }
  for (std::size_t i = 0; i < sluice_model_num_inputs(model_); ++i) {
    inputs_.push_back(copy(*sluice_model_input(model_, i)));
  }
  for (std::size_t i = 0; i < sluice_model_num_outputs(model_); ++i) {
    outputs_.push_back(copy(*sluice_model_output(model_, i)));
  }
  for (std::size_t i = 0; i < sluice_model_num_metadata(model_); ++i) {
    const char* key = nullptr;
    const char* value = nullptr;
    check(sluice_model_metadata_at(model_, i, &key, &value));
    metadata_.emplace_back(key, value);
  }
  is_plain_ = is_plain();
}

bool NativeModel::is_plain() const {
  const auto is_array = [](const Spec& spec) {
    return spec.is_tensor() && numpy_bits(spec.element_type) != 0;
  };
  return inputs_.size() <= kMaxArrays && std::ranges::all_of(inputs_, is_array) &&
         std::ranges::all_of(outputs_, [&](const Spec& spec) {
           return is_array(spec) && (!spec.is_static() ||
                                     storage_bytes(spec.element_type, spec.dims) < kBindFromBytes);
         });
}

NativeModel::~NativeModel() { close(); }

void NativeModel::close() {
  std::vector<ContextPointer> idle;
  const auto kept = kept_contexts();
  sluice_model* model = nullptr;
  {
    const std::lock_guard lock(mutex_);
    idle.swap(idle_);
    model = std::exchange(model_, nullptr);
  }
  if (generation_ == fork_generation()) {
    idle.clear();
    for (const auto& states : kept) states->release();
    sluice_model_close(model);
  } else {
    for (ContextPointer& context : idle) static_cast<void>(context.release());
  }
}

nb::list NativeModel::describe(const std::vector<Spec>& specs) {
  nb::list described;
  for (const Spec& spec : specs) {
    described.append(describe_spec(spec.name, spec.type, spec.element_type, spec.rank, spec.dims,
                                   spec.batch_axis, spec.has_default));
  }
  return described;
}

nb::list NativeModel::inputs() const { return describe(inputs_); }
nb::list NativeModel::outputs() const { return describe(outputs_); }

nb::dict NativeModel::metadata() const {
  nb::dict facts;
  for (const auto& [key, value] : metadata_) facts[key.c_str()] = value;
  return facts;
}

std::int64_t NativeModel::recorded_bytes() {
  std::int64_t total = 0;
  for (const auto& states : kept_contexts()) total += states->recorded_bytes();
  const std::lock_guard lock(mutex_);
  for (const ContextPointer& context : idle_) total += sluice_context_recorded_bytes(context.get());
  return total;
}

void NativeModel::set_seed(std::uint64_t seed) {
  use([&](sluice_model* model) { check(sluice_model_set_seed(model, seed)); });
}

ContextPointer NativeModel::take_context() {
  require_process(generation_);
  const std::lock_guard lock(mutex_);
  if (model_ == nullptr) throw Failure(Code::kFailedPrecondition, "the model is closed");
  if (!idle_.empty()) {
    ContextPointer context = std::move(idle_.back());
    idle_.pop_back();
    return context;
  }
  sluice_context* created = nullptr;
  check(sluice_context_create(model_, &created));
  return ContextPointer(created);
}

void NativeModel::return_context(ContextPointer context) {
  const std::lock_guard lock(mutex_);
  if (model_ != nullptr && idle_.size() < kMaxIdle) idle_.push_back(std::move(context));
}

void NativeModel::set_input(sluice_context* context, std::size_t index,
                            const InputTensor& input) const {
  const char* name = name_of(inputs_, index);
  if (input.is_absent) {
    check(sluice_context_set_input(context, name, nullptr));
    return;
  }
  if (!input.is_sequence) {
    const sluice_array view = input.view();
    check(sluice_context_set_input(context, name, &view));
    return;
  }
  std::vector<sluice_array> views;
  for (const InputTensor& element : input.elements) views.push_back(element.view());
  check(sluice_context_set_input_elements(context, name, views.data(), views.size()));
}

void NativeModel::copy_elements(sluice_context* context, std::size_t index,
                                OutputTensor& output) const {
  const char* name = name_of(outputs_, index);
  std::size_t count = 0;
  check(sluice_context_output_length(context, name, &count));
  output.is_sequence = true;
  for (std::size_t i = 0; i < count; ++i) {
    sluice_array view = {};
    check(sluice_context_output_element(context, name, i, &view));
    copy_to(output.elements.emplace_back(), view);
  }
}

void NativeModel::set_inputs(sluice_context* context, const std::vector<InputTensor>& inputs,
                             KeptContext* states) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto* const pair = states == nullptr ? nullptr : states->find_input(i);
    if (pair == nullptr) {
      set_input(context, i, inputs[i]);
      continue;
    }
    const auto number = static_cast<std::size_t>(pair - states->pairs_.data());
    if (!states->is_changed_[number]) continue;
    set_input(context, i, inputs[i]);
    states->is_changed_[number] = false;
  }
}

/// Unset bindings do not outlive a run: a context of the pool serves other callers next.
void NativeModel::run_in(sluice_context* context, const std::vector<InputTensor>& inputs,
                         const Destination& destination, std::int64_t timeout_ns,
                         std::vector<OutputTensor>& outputs, KeptContext* states) {
  set_inputs(context, inputs, states);
  bind_outputs(context, destination, outputs);
  if (states != nullptr) keep_states(context, *states);
  sluice_run_options options = {};
  options.struct_size = sizeof(options);
  options.timeout_ns = timeout_ns;
  const std::int64_t copied_before = sluice_context_copied_bytes(context);
  check(sluice_context_run_with(context, timeout_ns > 0 ? &options : nullptr));
  copied_bytes_ += sluice_context_copied_bytes(context) - copied_before;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (states != nullptr && states->has_output(i)) {
      // Its value may be on a device, and stays there.
      outputs[i].element_type = outputs_[i].element_type;
      outputs[i].dims = outputs_[i].dims;
      continue;
    }
    read_result(context, i, destination, outputs[i]);
  }
}

void NativeModel::bind_outputs(sluice_context* context, const Destination& destination,
                               std::vector<OutputTensor>& outputs) {
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const Spec& spec = outputs_[i];
    void* data = nullptr;
    std::int64_t capacity = 0;
    if (destination.places(i)) {
      data = destination.memory[i].data();
      capacity = static_cast<std::int64_t>(destination.memory[i].nbytes());
    } else if (destination.wants(i) && spec.is_tensor() && spec.is_static()) {
      capacity = storage_bytes(spec.element_type, spec.dims);
      if (capacity >= kBindFromBytes) {
        outputs[i].memory = allocate(capacity);
        data = outputs[i].memory.get();
      }
    }
    if (data != nullptr) {
      check(sluice_context_bind_output(context, name_of(outputs_, i), data, capacity));
    }
  }
}

void NativeModel::read_result(sluice_context* context, std::size_t i,
                              const Destination& destination, OutputTensor& output) {
  if (!destination.wants(i) && !destination.places(i)) return;
  if (!outputs_[i].is_tensor()) {
    copy_elements(context, i, output);
    return;
  }
  sluice_array view = {};
  check(sluice_context_output(context, name_of(outputs_, i), &view));
  if (output.memory != nullptr || destination.places(i)) {
    describe_output(output, view);
  } else {
    copy_to(output, view);
    copied_bytes_ += view.size_bytes;
  }
}

std::vector<OutputTensor> NativeModel::execute(const std::vector<InputTensor>& inputs,
                                               const Destination& destination,
                                               std::int64_t timeout_ns,
                                               Cancellation* cancellation) {
  const NativeCall call;
  const nb::gil_scoped_release released;
  return execute_released(inputs, destination, timeout_ns, cancellation);
}

std::vector<OutputTensor> NativeModel::execute_released(const std::vector<InputTensor>& inputs,
                                                        const Destination& destination,
                                                        std::int64_t timeout_ns,
                                                        Cancellation* cancellation) {
  std::vector<OutputTensor> outputs(outputs_.size());
  ContextPointer context = take_context();
  // A failure frees the context: its bindings point to memory of this call.
  {
    const Cancellation::Run run(cancellation, context.get());
    run_in(context.get(), inputs, destination, timeout_ns, outputs);
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const bool was_bound = destination.places(i) || outputs[i].size_bytes >= kBindFromBytes;
    if (was_bound) {
      check(sluice_context_bind_output(context.get(), name_of(outputs_, i), nullptr, 0));
    }
  }
  return_context(std::move(context));
  return outputs;
}

nb::object NativeModel::read_output(sluice_context* context, std::size_t index) {
  sluice_array view = {};
  check(sluice_context_output(context, name_of(outputs_, index), &view));
  copied_bytes_ += view.size_bytes;
  if (view.size_bytes < kBindFromBytes) {
    return copy_to_numpy(view.data, view.size_bytes, numpy_type(view.element_type),
                         {view.dims, static_cast<std::size_t>(view.rank)});
  }
  OutputTensor output;
  {
    const nb::gil_scoped_release released;
    copy_to(output, view);
  }
  return to_python(std::move(output));
}

nb::object NativeModel::call_arrays(const nb::handle& arguments) {
  if (!is_plain_) return call_bound(arguments);
  const auto num_given = static_cast<std::size_t>(PyTuple_Size(arguments.ptr()));
  if (num_given > inputs_.size()) return {};
  std::array<sluice_array, kMaxArrays> arrays;
  std::array<const sluice_array*, kMaxArrays> given = {};  // null: the default
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    PyObject* argument =
        i < num_given ? PyTuple_GetItem(arguments.ptr(), static_cast<Py_ssize_t>(i)) : Py_None;
    if (argument == Py_None && inputs_[i].has_default) continue;
    const auto view = view_numpy_array(argument);
    if (!view || view->element_type != inputs_[i].element_type) return {};
    given[i] = &arrays[i];
    arrays[i] = {view->data, view->size_bytes, view->element_type,
                 static_cast<std::int32_t>(view->dims.size()), view->dims.data()};
  }
  const NativeCall call;
  ContextPointer context = take_context();
  // With the GIL: another thread may give an array other dimensions.
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    check(sluice_context_set_input(context.get(), name_of(inputs_, i), given[i]));
  }
  const std::int64_t copied_before = sluice_context_copied_bytes(context.get());
  {
    const nb::gil_scoped_release released;
    check(sluice_context_run(context.get()));
  }
  copied_bytes_ += sluice_context_copied_bytes(context.get()) - copied_before;
  nb::list outputs;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs.append(read_output(context.get(), i));
  }
  return_context(std::move(context));
  return result_of(outputs);
}

nb::object NativeModel::call_bound(const nb::handle& arguments) {
  for (const Spec& output : outputs_) {
    if (numpy_bits(output.element_type) == 0) return {};
  }
  const auto tensors = read_arguments(arguments, inputs_);
  if (!tensors) return {};
  nb::list outputs;
  for (OutputTensor& output : execute(*tensors, {}, 0, nullptr)) {
    outputs.append(to_python(std::move(output)));
  }
  return result_of(outputs);
}

nb::object NativeModel::call(const nb::args& arguments) {
  nb::object result = call_arrays(arguments);
  return result.is_valid() ? result : nb::none();
}

std::vector<InputTensor> NativeModel::read_inputs(const nb::list& inputs) const {
  if (inputs.size() != inputs_.size()) {
    throw Failure(Code::kInvalidArgument, "as many inputs as the model has");
  }
  std::vector<InputTensor> tensors(inputs_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].is_absent = inputs[i].is_none();
    if (!tensors[i].is_absent && !read_input(inputs[i], tensors[i])) {
      throw Failure(
          Code::kInvalidArgument,
          "input \"" + inputs_[i].name + "\" is no contiguous array in memory of the processor");
    }
  }
  return tensors;
}

NativeModel::Destination NativeModel::read_destination(const std::vector<bool>& wanted,
                                                       const nb::object& out) const {
  if (wanted.size() != outputs_.size()) {
    throw Failure(Code::kInvalidArgument, "as many outputs as the model has");
  }
  return {wanted, read_out(out, outputs_.size())};
}

nb::list NativeModel::list_outputs(const Destination& destination,
                                   std::vector<OutputTensor> outputs) const {
  nb::list results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (destination.places(i)) {
      nb::list dims;
      for (const std::int64_t dim : outputs[i].dims) dims.append(dim);
      results.append(nb::make_tuple(outputs[i].element_type, nb::tuple(dims)));
    } else if (destination.wants(i)) {
      results.append(to_python(std::move(outputs[i])));
    } else {
      results.append(nb::none());
    }
  }
  return results;
}

nb::list NativeModel::run(const nb::list& inputs, const std::vector<bool>& wanted,
                          const nb::object& out, std::int64_t timeout_ns,
                          Cancellation* cancellation) {
  const std::vector<InputTensor> tensors = read_inputs(inputs);
  const Destination destination = read_destination(wanted, out);
  return list_outputs(destination, execute(tensors, destination, timeout_ns, cancellation));
}

void NativeModel::run_on_device(const nb::list& inputs, const nb::list& outputs,
                                const std::string& backend, std::int32_t device) {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size()) {
    throw Failure(Code::kInvalidArgument, "as many inputs and outputs as the model has");
  }
  std::vector<std::optional<DeviceTensor>> given;
  for (const nb::handle input : inputs) {
    given.emplace_back();
    if (!input.is_none()) given.back().emplace(nb::cast<nb::tuple>(input));
  }
  std::vector<DeviceTensor> wanted;
  for (const nb::handle output : outputs) wanted.emplace_back(nb::cast<nb::tuple>(output));
  const NativeCall call;
  const nb::gil_scoped_release released;
  ContextPointer context = take_context();
  // A failure frees the context: its bindings point to memory of this call.
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      check(sluice_context_set_input(context.get(), name_of(inputs_, i), nullptr));
      continue;
    }
    const sluice_array view = given[i]->view();
    check(sluice_context_set_device_input(context.get(), name_of(inputs_, i), &view,
                                          backend.c_str(), device));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    check(sluice_context_bind_device_output(context.get(), name_of(outputs_, i), wanted[i].data,
                                            wanted[i].size_bytes, backend.c_str(), device));
  }
  check(sluice_context_run(context.get()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    check(sluice_context_bind_output(context.get(), name_of(outputs_, i), nullptr, 0));
  }
  return_context(std::move(context));
}

void bind_model(nb::module_& module) {
  nb::class_<NativeModel>(module, "Model", "A loaded model; sluice.Model wraps it.")
      .def(nb::init<const Path&, std::int32_t, const std::vector<std::int32_t>&, const Path&,
                    std::int64_t, std::optional<std::uint64_t>>(),
           nb::arg("path"), nb::arg("num_threads") = 0,
           nb::arg("cores") = std::vector<std::int32_t>(), nb::arg("backend_dir") = "",
           nb::arg("max_recorded_bytes") = 0, nb::arg("seed").none() = nb::none())
      .def("inputs", &NativeModel::inputs)
      .def("outputs", &NativeModel::outputs)
      .def("metadata", &NativeModel::metadata)
      .def("call", &NativeModel::call)
      .def("run", &NativeModel::run, nb::arg("inputs"), nb::arg("wanted"),
           nb::arg("out").none() = nb::none(), nb::arg("timeout_ns") = 0,
           nb::arg("cancellation").none() = nb::none())
      .def("run_kept", &NativeModel::run_kept, nb::arg("states"), nb::arg("inputs"),
           nb::arg("wanted"), nb::arg("out"), nb::arg("cancellation").none() = nb::none())
      .def("run_on_device", &NativeModel::run_on_device, nb::arg("inputs"), nb::arg("outputs"),
           nb::arg("backend"), nb::arg("device"))
      .def("set_seed", &NativeModel::set_seed, nb::arg("seed"))
      .def("copied_bytes", &NativeModel::copied_bytes)
      .def("recorded_bytes", &NativeModel::recorded_bytes)
      .def("close", &NativeModel::close, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace sluice::python
