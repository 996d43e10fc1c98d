#include "loaded_model.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sluice/statistics.h>

#include <utility>

#include "describe.h"

namespace sluice::python {
namespace {

/// The inputs of a request by name. Borrows its arguments.
struct Arrays {
  Arrays(const std::vector<InputTensor>& inputs, const std::vector<TensorInfo>& infos) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_absent) continue;
      const char* name = infos[i].name.c_str();
      if (inputs[i].exchange != 0) {
        exchanged.push_back({name, inputs[i].exchange});
      } else {
        given.push_back({name, inputs[i].view()});
      }
    }
  }

  std::vector<sluice_named_array> given;
  std::vector<sluice_exchanged_input> exchanged;
};

/// The options of a request. Borrows its arguments.
struct Options {
  Options(const RequestTerms& terms, const std::vector<TensorInfo>& outputs, const Arrays& arrays) {
    for (std::size_t i = 0; i < terms.kept.size() && i < outputs.size(); ++i) {
      if (terms.kept[i]) kept.push_back(outputs[i].name.c_str());
    }
    c.struct_size = sizeof(c);
    c.timeout_ns = terms.timeout_ns;
    c.priority = terms.priority;
    c.kept = kept.data();
    c.num_kept = static_cast<std::int32_t>(kept.size());
    c.ttl_ns = terms.ttl_ns;
    c.exchanged = arrays.exchanged.data();
    c.num_exchanged = static_cast<std::int32_t>(arrays.exchanged.size());
    if (!terms.traceparent.empty()) c.traceparent = terms.traceparent.c_str();
  }

  std::vector<const char*> kept;
  sluice_request_options c = {};
};

/// Called by a thread of the runtime, without the GIL.
void report_end(void* user_data, std::uint64_t, std::int32_t status, sluice_reply* reply) {
  std::unique_ptr<Pending> ended(static_cast<Pending*>(user_data));
  ended->status = status;
  ended->reply.reset(reply);
  if (status != SLUICE_OK) ended->message = sluice_last_error();
  Replies& replies = *ended->replies;
  replies.push(std::move(ended));
}

nb::tuple type_and_shape(const sluice_reply* reply, std::size_t output) {
  sluice_array array = {};
  check(sluice_reply_output(reply, sluice_reply_output_name(reply, output), &array));
  nb::list dims;
  for (std::int32_t i = 0; i < array.rank; ++i) dims.append(array.dims[i]);
  return nb::make_tuple(array.element_type, nb::tuple(dims));
}

}  // namespace

NativeLoadedModel::NativeLoadedModel(sluice_runtime* runtime, std::uint64_t id, bool is_owner)
    : runtime_(runtime), id_(id), is_owner_(is_owner) {
  const auto model = snapshot<sluice_loaded_model>(
      [&](const sluice_loaded_model** made) { return sluice_runtime_model(runtime_, id_, made); });
  for (std::size_t i = 0; i < model->num_inputs; ++i) {
    inputs_.push_back({model->inputs[i]->name, model->inputs[i]->element_type});
  }
  for (std::size_t i = 0; i < model->num_outputs; ++i) {
    outputs_.push_back({model->outputs[i]->name, model->outputs[i]->element_type});
  }
}

NativeLoadedModel::~NativeLoadedModel() {
  if (!is_owner_ || is_unloaded_.exchange(true)) return;
  const nb::gil_scoped_release released;
  (void)sluice_runtime_unload(runtime_, id_, 0);
}

nb::dict NativeLoadedModel::info() const {
  require_loaded();
  return describe(*snapshot<sluice_loaded_model>(
      [&](const sluice_loaded_model** made) { return sluice_runtime_model(runtime_, id_, made); }));
}

std::vector<InputTensor> NativeLoadedModel::read_inputs(const nb::list& values) const {
  if (values.size() != inputs_.size()) {
    throw Failure(Code::kInvalidArgument, "as many inputs as the model has");
  }
  std::vector<InputTensor> tensors(inputs_.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (nb::isinstance<nb::int_>(values[i])) {
      tensors[i].exchange = nb::cast<std::uint64_t>(values[i]);
      continue;
    }
    tensors[i].is_absent = values[i].is_none();
    if (tensors[i].is_absent) continue;
    if (!read_input(values[i], tensors[i]) || tensors[i].is_sequence) {
      throw Failure(
          Code::kInvalidArgument,
          "input \"" + inputs_[i].name + "\" is no contiguous array in memory of the processor");
    }
  }
  return tensors;
}

ReplyPointer NativeLoadedModel::infer(const std::vector<InputTensor>& inputs,
                                      const std::vector<WriteArray>& out,
                                      const RequestTerms& terms) const {
  const Arrays arrays(inputs, inputs_);
  std::vector<sluice_output_memory> memory;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_valid()) continue;
    memory.push_back(
        {outputs_[i].name.c_str(), out[i].data(), static_cast<std::int64_t>(out[i].nbytes())});
  }
  Options options(terms, outputs_, arrays);
  options.c.outputs = memory.data();
  options.c.num_outputs = static_cast<std::int32_t>(memory.size());
  sluice_reply* reply = nullptr;
  require_loaded();
  without_gil([&] {
    check(sluice_runtime_infer(runtime_, id_, arrays.given.data(), arrays.given.size(), &options.c,
                               &reply));
  });
  return ReplyPointer(reply);
}

nb::object NativeLoadedModel::call_arrays(const nb::handle& arguments) const {
  for (const TensorInfo& output : outputs_) {
    if (numpy_bits(output.element_type) == 0) return {};
  }
  const auto tensors = read_arguments(arguments, inputs_);
  return tensors ? result_of(outputs_of(infer(*tensors, {}, {}), {})) : nb::object();
}

nb::list NativeLoadedModel::run(const nb::list& inputs, const std::vector<bool>& wanted,
                                const nb::object& out, std::int64_t timeout_ns,
                                std::int32_t priority, std::vector<bool> kept, std::int64_t ttl_ns,
                                std::string traceparent) const {
  const std::vector<InputTensor> tensors = read_inputs(inputs);
  const std::vector<WriteArray> memory = read_out(out, outputs_.size());
  ReplyPointer reply = infer(
      tensors, memory, {timeout_ns, priority, std::move(kept), ttl_ns, std::move(traceparent)});
  std::vector<bool> returned = wanted;
  returned.resize(outputs_.size(), true);
  nb::list results;
  std::vector<nb::object> placed(outputs_.size());
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i].is_valid()) continue;
    placed[i] = type_and_shape(reply.get(), i);
    returned[i] = false;
  }
  const nb::list outputs = outputs_of(std::move(reply), returned);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    results.append(placed[i].is_valid() ? placed[i] : nb::object(outputs[i]));
  }
  return results;
}

std::uint64_t NativeLoadedModel::submit(std::shared_ptr<Replies> replies, nb::object future,
                                        const nb::list& inputs, std::int64_t timeout_ns,
                                        std::int32_t priority, std::vector<bool> kept,
                                        std::int64_t ttl_ns, std::string traceparent) const {
  auto pending = std::make_unique<Pending>();
  pending->replies = std::move(replies);
  pending->future = std::move(future);
  pending->inputs = read_inputs(inputs);
  const Arrays arrays(pending->inputs, inputs_);
  const RequestTerms terms = {timeout_ns, priority, std::move(kept), ttl_ns,
                              std::move(traceparent)};
  Options options(terms, outputs_, arrays);
  options.c.on_done = &report_end;
  options.c.user_data = pending.get();
  std::uint64_t request = 0;
  require_loaded();
  without_gil([&] {
    check(sluice_runtime_submit(runtime_, id_, arrays.given.data(), arrays.given.size(), &options.c,
                                &request));
    (void)pending.release();  // report_end has it
  });
  return request;
}

std::uint64_t NativeLoadedModel::post(const nb::list& inputs, std::int64_t timeout_ns,
                                      std::int32_t priority, std::vector<bool> kept,
                                      std::int64_t ttl_ns, std::string traceparent) const {
  const std::vector<InputTensor> tensors = read_inputs(inputs);
  const Arrays arrays(tensors, inputs_);
  const RequestTerms terms = {timeout_ns, priority, std::move(kept), ttl_ns,
                              std::move(traceparent)};
  Options options(terms, outputs_, arrays);
  options.c.is_posted = 1;
  std::uint64_t request = 0;
  require_loaded();
  without_gil([&] {
    check(sluice_runtime_submit(runtime_, id_, arrays.given.data(), arrays.given.size(), &options.c,
                                &request));
  });
  return request;
}

nb::list NativeLoadedModel::take(std::uint64_t request, std::int64_t wait_ns) const {
  sluice_reply* reply = nullptr;
  without_gil([&] { check(sluice_runtime_wait(runtime_, request, wait_ns, &reply)); });
  return outputs_of(ReplyPointer(reply), {});
}

void NativeLoadedModel::cancel(std::uint64_t request) const {
  without_gil([&] { (void)sluice_runtime_cancel(runtime_, request); });
}

void NativeLoadedModel::start() {
  require_loaded();
  without_gil([&] { check(sluice_runtime_start(runtime_, id_)); });
}

void NativeLoadedModel::stop(std::int64_t drain_ns) {
  require_loaded();
  without_gil([&] { check(sluice_runtime_stop(runtime_, id_, drain_ns)); });
}

void NativeLoadedModel::reset() {
  require_loaded();
  without_gil([&] { check(sluice_runtime_reset(runtime_, id_)); });
}

void NativeLoadedModel::unload(std::int64_t drain_ns) {
  if (is_unloaded_.exchange(true)) return;
  without_gil([&] { check(sluice_runtime_unload(runtime_, id_, drain_ns)); });
}

nb::dict NativeLoadedModel::statistics() const {
  require_loaded();
  return describe(*snapshot<sluice_model_statistics>([&](const sluice_model_statistics** made) {
    return sluice_runtime_statistics(runtime_, id_, made);
  }));
}

nb::dict NativeLoadedModel::health() const {
  require_loaded();
  return describe(*snapshot<sluice_health>(
      [&](const sluice_health** made) { return sluice_runtime_health(runtime_, id_, made); }));
}

void bind_loaded_model(nb::module_& module) {
  using Loaded = NativeLoadedModel;
  nb::class_<Loaded>(module, "LoadedModel", "A model of a runtime; sluice.LoadedModel wraps it.")
      .def_prop_ro("id", &Loaded::id)
      .def("info", &Loaded::info)
      .def("run", &Loaded::run, nb::arg("inputs"), nb::arg("wanted"), nb::arg("out").none(),
           nb::arg("timeout_ns") = 0, nb::arg("priority") = 0,
           nb::arg("kept") = std::vector<bool>(), nb::arg("ttl_ns") = 0,
           nb::arg("traceparent") = "")
      .def("submit", &Loaded::submit, nb::arg("replies"), nb::arg("future"), nb::arg("inputs"),
           nb::arg("timeout_ns"), nb::arg("priority"), nb::arg("kept"), nb::arg("ttl_ns"),
           nb::arg("traceparent"))
      .def("post", &Loaded::post, nb::arg("inputs"), nb::arg("timeout_ns"), nb::arg("priority"),
           nb::arg("kept"), nb::arg("ttl_ns"), nb::arg("traceparent"))
      .def("take", &Loaded::take, nb::arg("request"), nb::arg("wait_ns"))
      .def("cancel", &Loaded::cancel, nb::arg("request"))
      .def("start", &Loaded::start)
      .def("stop", &Loaded::stop, nb::arg("drain_ns"))
      .def("reset", &Loaded::reset)
      .def("unload", &Loaded::unload, nb::arg("drain_ns"))
      .def("statistics", &Loaded::statistics)
      .def("health", &Loaded::health);
}

}  // namespace sluice::python
