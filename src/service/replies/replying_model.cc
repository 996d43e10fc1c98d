#include "service/replies/replying_model.h"

#include <openssl/evp.h>

#include "base/no_memory.h"

namespace sluice::service {

using runtime::Reply;
using runtime::Request;

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

/// SHA-256 of numbers and bytes. Each number is of a fixed size, and each list comes behind its
/// length, so that no two requests have the same text.
class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    is_good_ = context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1;
  }

  void add(std::uint64_t number) { add(&number, sizeof(number)); }
  void add(const terms::TensorView& view) {
    add(static_cast<std::uint64_t>(view.element));
    add(view.dims.size());
    for (const std::int64_t dim : view.dims) add(static_cast<std::uint64_t>(dim));
    add(static_cast<std::uint64_t>(view.size_bytes));
    if (view.size_bytes > 0) add(view.data, static_cast<std::size_t>(view.size_bytes));
  }
  /// False without memory.
  bool finish(std::array<std::byte, 32>& to) {
    return is_good_ &&
           EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(to.data()),
                              nullptr) == 1;
  }

 private:
  void add(const void* bytes, std::size_t size) {
    is_good_ = is_good_ && EVP_DigestUpdate(context_.get(), bytes, size) == 1;
  }

  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
  bool is_good_;
};

/// Nullopt where an output does not fit the client's memory: the model says so.
std::optional<Reply> reply_of(const KeptReplies::Shared& kept, const Request& request) {
  Reply reply;
  reply.is_kept = true;
  for (std::size_t i = 0; i < kept->outputs.size(); ++i) {
    terms::OutputTensor output = {kept->outputs[i], kept};
    const terms::OutputMemory memory =
        i < request.outputs.size() ? request.outputs[i] : terms::OutputMemory();
    if (memory.data != nullptr) {
      if (output.view.size_bytes > memory.capacity_bytes) return std::nullopt;
      std::memcpy(memory.data, output.view.data, static_cast<std::size_t>(output.view.size_bytes));
      output.view.data = memory.data;
      output.owner = nullptr;
    }
    reply.outputs.push_back(std::move(output));
  }
  return reply;
}

}  // namespace

/// A request whose reply will be kept.
struct ReplyingModel::Miss {
  ReplyKey key;
  std::int64_t looked_ns = 0;  ///< the time of the look
  std::function<void(Reply)> on_done;
};

std::shared_ptr<ReplyingModel> ReplyingModel::create(std::shared_ptr<runtime::RequestSink> model,
                                                     std::shared_ptr<KeptReplies> replies) {
  return std::shared_ptr<ReplyingModel>(new ReplyingModel(std::move(model), std::move(replies)));
}

ReplyingModel::ReplyingModel(std::shared_ptr<runtime::RequestSink> model,
                             std::shared_ptr<KeptReplies> replies)
    : model_(std::move(model)), replies_(std::move(replies)), number_(next_number()) {}

// Nobody inserts any more: requests in flight keep this alive.
ReplyingModel::~ReplyingModel() { replies_->erase(number_); }

/// Nullopt without memory for the digest.
std::optional<ReplyKey> ReplyingModel::key_of(const Request& request) const {
  Digest digest;
  digest.add(number_);
  digest.add(request.exchange_owner);
  digest.add(request.inputs.size());
  for (const terms::TensorView& input : request.inputs) digest.add(input);
  ReplyKey key = {number_, sandbox::OwnerId{request.exchange_owner}};
  return digest.finish(key.digest) ? std::optional(key) : std::nullopt;
}

Result<std::uint64_t> ReplyingModel::submit(Request& request) {
  const bool is_somebodys = request.exchange_owner != 0;
  // A full line refuses: the digest would be for nothing. Its reply is not kept if room appears.
  if (!is_replying_ || !is_somebodys || request.sequence != nullptr || model_->is_full()) {
    return model_->submit(request);
  }
  const std::int64_t start_ns = clock().now_ns();
  const auto key = key_of(request);
  if (!key) return model_->submit(request);
  const KeptReplies::Shared kept = replies_->find(*key);
  auto reply = kept == nullptr ? std::nullopt : reply_of(kept, request);
  const std::int64_t looked_ns = clock().now_ns() - start_ns;
  if (!reply) return compute(request, *key, looked_ns);
  ++num_hits_;
  hit_ns_ += looked_ns;
  const auto model = model_;  // on_done may let go of this
  std::exchange(request.on_done, nullptr)(std::move(*reply));
  model->tell_waiters();  // of a request that never reached it
  return kAnswered;
}

Result<std::uint64_t> ReplyingModel::compute(Request& request, const ReplyKey& key,
                                             std::int64_t looked_ns) {
  const auto miss = std::make_shared<Miss>(Miss{key, looked_ns, nullptr});
  std::function<void(Reply)> keep_first = [self = shared_from_this(), miss](Reply reply) {
    self->keep(*miss, reply);
    miss->on_done(std::move(reply));
  };
  miss->on_done = std::exchange(request.on_done, std::move(keep_first));
  const auto id = catch_no_memory([&] { return model_->submit(request); });
  if (!id.is_ok()) request.on_done = std::move(miss->on_done);  // it stays as it was
  return id;
}

void ReplyingModel::keep(const Miss& miss, const Reply& reply) {
  if (reply.code != RuntimeCode::kOk) return;
  const std::int64_t start_ns = clock().now_ns();
  const Status kept = catch_no_memory([&] {
    replies_->insert(miss.key, reply.outputs);
    return ok_status();
  });
  (void)kept;  // the next equal request is computed, too
  ++num_misses_;
  miss_ns_ += miss.looked_ns + clock().now_ns() - start_ns;
}

void ReplyingModel::stop_replying() {
  const std::lock_guard lock(replying_mutex_);
  is_replying_ = false;
}

void ReplyingModel::update_replying(const std::function<bool()>& answers) {
  const std::lock_guard lock(replying_mutex_);
  is_replying_ = answers();
}

terms::KeptCounts ReplyingModel::counts() const {
  return {num_hits_.load(), hit_ns_.load(), num_misses_.load(), miss_ns_.load()};
}

}  // namespace sluice::service
