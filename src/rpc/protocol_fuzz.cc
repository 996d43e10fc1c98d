// Reads any bytes as a message of the protocol and hands it to what the handlers, or a client, make
// of it: what is taken is within bounds, and no view reaches out of the message. The first byte
// says which message.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "proto/sluice/v1/stream.pb.h"
#include "rpc/wire/convert.h"
#include "rpc/wire/error.h"
#include "rpc/wire/profile_messages.h"
#include "runtime/profile/profiler.h"

namespace {

using namespace sluice;
using namespace sluice::rpc::wire;

void require(bool is_true) {
  if (!is_true) std::abort();
}

terms::Signature signature() {
  terms::Signature signature;
  signature.inputs.push_back({"x", ir::parse_type("f32[4]").value(), -1});
  signature.inputs.push_back({"ids", ir::parse_type("i4[N]").value(), 0});
  return signature;
}

/// The one region of the session.
Result<void*> open_place(std::size_t /*index*/, const terms::RegionSlice& place) {
  static std::array<char, 4096> region = {};
  if (place.offset > region.size() || place.size_bytes > region.size() - place.offset) {
    return invalid_argument("the place is not in the region");
  }
  return static_cast<void*>(region.data() + place.offset);
}

/// The one tensor of the exchange.
Result<terms::TensorView> find_tensor(std::uint64_t exchange) {
  static std::array<float, 4> tensor = {};
  if (exchange != 1) return invalid_argument("the exchange has no such tensor");
  return terms::TensorView{tensor.data(), sizeof(tensor), ir::ElementType::kF32, {4}};
}

/// Reads every byte, so that a sanitizer sees one that is not the message's.
void touch(const terms::TensorView& view) {
  require(view.size_bytes >= 0);
  volatile char sum = 0;
  const auto* bytes = static_cast<const char*>(view.data);
  for (std::int64_t i = 0; i < view.size_bytes; ++i) sum = static_cast<char>(sum ^ bytes[i]);
}

void check(const v1::InferRequest& request) {
  static const terms::Signature wanted = signature();
  const auto views = inputs_of(request, wanted, open_place, find_tensor);
  if (!views.is_ok()) {
    require(!views.status().message().empty());
    return;
  }
  require(views->size() == wanted.inputs.size());
  for (const terms::TensorView& view : *views) touch(view);
}

void check(const v1::InferResponse& answer) {
  for (const v1::Tensor& output : answer.outputs()) {
    const auto view = view_of(output);
    if (!view.is_ok()) continue;
    // The bytes of a placed output lie in the client's own region: the view has none.
    if (output.has_place()) {
      require(view->data == nullptr);
    } else {
      touch(*view);
    }
  }
  static_cast<void>(from_proto(answer.detail()));
}

void check(const v1::CreateGroupRequest& from) {
  const auto request = from_proto(from);
  if (!request.is_ok()) return;
  require(request->num_cores >= 0 && request->num_devices >= 0 && request->memory_bytes >= 0);
  v1::CreateGroupRequest back;
  to_proto(*request, back);
  require(from_proto(back).is_ok());
}

void check(const v1::InferStreamRequest& from) { check(from.request()); }

void check(const v1::InferStreamResponse& from) {
  check(from.response());
  require(!from_proto(from.error()).is_ok());
}

void check(const v1::ErrorStatus& from) {
  const Status status =
      from_grpc(grpc::Status(grpc::StatusCode::INTERNAL, from.message(), from.SerializeAsString()));
  require(status.code() == Code::kInternal);
}

void check(const v1::GetServerResponse& from) { static_cast<void>(from_proto(from)); }
void check(const v1::GetHealthResponse& from) { static_cast<void>(from_proto(from)); }
void check(const v1::GetStatisticsResponse& from) { static_cast<void>(from_proto(from)); }
void check(const v1::Model& from) { static_cast<void>(from_proto(from).is_ok()); }
void check(const v1::Group& from) { static_cast<void>(from_proto(from)); }
void check(const v1::Session& from) { static_cast<void>(from_proto(from)); }
void check(const v1::Region& from) { static_cast<void>(from_proto(from)); }

void check(const v1::LoadOptions& from) {
  constexpr std::int64_t kLimitBytes = 1 << 20;
  const auto settings = from_proto(from, kLimitBytes);
  if (!settings.is_ok()) {
    require(!settings.status().message().empty());
    return;
  }
  require(settings->upload_bytes >= 0 && settings->upload_bytes <= kLimitBytes);
  require(settings->upload_bytes == 0 || settings->path.empty());
  require(settings->options.depth >= 0 && settings->options.depth <= terms::kMaxDepth);
  const int waiting = settings->options.queue_limit.value_or(0);
  require(waiting >= 0 && waiting <= terms::kMaxWaiting);
  require(!settings->options.group || settings->options.group->value() > 0);
}

/// A profile does not reach the end of its time.
class StillClock final : public Clock {
 public:
  std::int64_t now_ns() const override { return 0; }
  void wait_until(std::unique_lock<std::mutex>& /*lock*/, std::condition_variable& /*condition*/,
                  std::int64_t /*deadline_ns*/) override {}
};

/// Starts the profiler with the decoded settings, so that the fuzzer reaches the profiler's limits.
void check(const v1::StartProfileRequest& from) {
  const auto settings = from_proto(from);
  if (!settings.is_ok()) return;
  static StillClock clock;
  runtime::Profiler profiler(clock);
  runtime::ProfileOptions options;
  options.limit_ns = settings->limit_ns;
  options.max_spans = settings->max_spans;
  const auto id = profiler.start(options);
  require(id.is_ok() == profiler.is_on());
  v1::StartProfileRequest back;
  to_proto(*settings, back);
  require(from_proto(back).is_ok());
}

/// What was read and leads somewhere comes through parts unchanged in number.
void check(const v1::StopProfileResponse& from) {
  terms::Profile profile;
  if (!add_part(from, profile).is_ok() || !check_profile(profile).is_ok()) return;
  const std::size_t num_spans = profile.spans.size();
  ProfileParts parts(std::move(profile));
  terms::Profile again;
  for (v1::StopProfileResponse part; parts.next(part); part.Clear()) {
    require(add_part(part, again).is_ok());
  }
  require(check_profile(again).is_ok() && again.spans.size() == num_spans);
}

template <typename Message>
void read(const std::string& bytes) {
  Message message;
  if (message.ParseFromString(bytes)) check(message);
}

using Reader = void (*)(const std::string&);
constexpr Reader kReaders[] = {
    read<v1::InferRequest>,
    read<v1::InferResponse>,
    read<v1::InferStreamRequest>,
    read<v1::InferStreamResponse>,
    read<v1::CreateGroupRequest>,
    read<v1::ErrorStatus>,
    read<v1::GetServerResponse>,
    read<v1::GetHealthResponse>,
    read<v1::GetStatisticsResponse>,
    read<v1::Model>,
    read<v1::Group>,
    read<v1::Session>,
    read<v1::Region>,
    read<v1::LoadOptions>,
    read<v1::StartProfileRequest>,
    read<v1::StopProfileResponse>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Protobuf logs every string that is not UTF-8; the fuzzer makes many.
  [[maybe_unused]] static auto* const told_before = google::protobuf::SetLogHandler(nullptr);
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  kReaders[data[0] % std::size(kReaders)](bytes);
  return 0;
}
