// The functions of sluice/request.h for replies.
#include <utility>

#include "api/functions/reply.h"
#include "api/last_error.h"

namespace sluice::api {

std::unique_ptr<sluice_reply> make_reply(InferReply reply) {
  auto made = std::make_unique<sluice_reply>();
  made->reply = std::move(reply);
  if (!made->reply.has_detail) return made;
  const terms::ReplyDetail& detail = made->reply.detail;
  for (const std::string& backend : detail.backends) made->backends.push_back(backend.c_str());
  made->detail = {detail.group,          detail.queue_ns,      detail.copy_ns,
                  detail.compute_ns,     detail.cores.size(),  detail.cores.data(),
                  made->backends.size(), made->backends.data()};
  return made;
}

Status give(InferReply reply, sluice_reply** to) {
  if (!reply.status.is_ok()) return std::move(reply.status);
  *to = make_reply(std::move(reply)).release();
  return ok_status();
}

namespace {

Result<const terms::NamedTensor*> find_output(const InferReply& reply, const char* name) {
  std::string known;
  for (const terms::NamedTensor& output : reply.outputs) {
    // Without a name the only output is meant.
    if (name == nullptr ? reply.outputs.size() == 1 : output.name == name) return &output;
    known += fmt::format("{}\"{}\"", known.empty() ? "" : ", ", output.name);
  }
  return make_error(Code::kNotFound, "the reply has no output \"{}\"; it has {}",
                    name == nullptr ? "" : name, known);
}

Status get_output(const InferReply& reply, const char* name, sluice_array& array) {
  const terms::NamedTensor& output = *SLUICE_TRY(find_output(reply, name));
  if (output.exchange != 0) {
    return make_error(Code::kFailedPrecondition,
                      "output \"{}\" stays in the exchange; sluice_runtime_get_tensor gives it",
                      output.name);
  }
  const terms::TensorView& view = output.view;
  array = {view.data, view.size_bytes, static_cast<std::int32_t>(view.element),
           static_cast<std::int32_t>(view.dims.size()), view.dims.data()};
  return ok_status();
}

}  // namespace
}  // namespace sluice::api

int32_t sluice_reply_runtime_code(const sluice_reply* reply) {
  return reply == nullptr ? 0 : static_cast<int32_t>(reply->reply.code);
}

size_t sluice_reply_num_outputs(const sluice_reply* reply) {
  return reply == nullptr ? 0 : reply->reply.outputs.size();
}

const char* sluice_reply_output_name(const sluice_reply* reply, size_t index) {
  if (reply == nullptr || index >= reply->reply.outputs.size()) return nullptr;
  return reply->reply.outputs[index].name.c_str();
}

int32_t sluice_reply_output(const sluice_reply* reply, const char* name, sluice_array* array) {
  return sluice::api::guard([&]() -> sluice::Status {
    if (reply == nullptr || array == nullptr) {
      return sluice::invalid_argument("reply or array is null");
    }
    return sluice::api::get_output(reply->reply, name, *array);
  });
}

int32_t sluice_reply_exchange(const sluice_reply* reply, const char* name, uint64_t* exchange) {
  return sluice::api::guard([&]() -> sluice::Status {
    if (reply == nullptr || exchange == nullptr) {
      return sluice::invalid_argument("reply or exchange is null");
    }
    *exchange = SLUICE_TRY(sluice::api::find_output(reply->reply, name))->exchange;
    return sluice::ok_status();
  });
}

const sluice_reply_detail_info* sluice_reply_detail(const sluice_reply* reply) {
  return reply == nullptr || !reply->reply.has_detail ? nullptr : &reply->detail;
}

void sluice_reply_free(sluice_reply* reply) { delete reply; }
