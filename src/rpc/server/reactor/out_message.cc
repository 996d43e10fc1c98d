#include "rpc/server/reactor/out_message.h"

namespace sluice::rpc::server {

OutMessage::OutMessage(const google::protobuf::MessageLite& message) {
  bytes_.resize(kPrefixBytes);
  message.AppendPartialToString(&bytes_);
  size_bytes_ = bytes_.size() - kPrefixBytes;
  set_prefix();
}

OutMessage::OutMessage(const grpc::ByteBuffer& message) : size_bytes_(message.Length()) {
  (void)message.Dump(&slices_);  // fails for compressed messages alone
  bytes_.resize(kPrefixBytes);
  set_prefix();
}

/// Not compressed; the length in network order.
void OutMessage::set_prefix() {
  for (std::size_t i = 1; i < kPrefixBytes; ++i) {
    bytes_[i] = static_cast<char>(size_bytes_ >> (8 * (kPrefixBytes - 1 - i)));
  }
}

std::string_view OutMessage::next() const {
  if (part_ > slices_.size()) return {};
  if (part_ == 0) return std::string_view(bytes_).substr(sent_);
  const grpc::Slice& slice = slices_[part_ - 1];
  return std::string_view(reinterpret_cast<const char*>(slice.begin()), slice.size()).substr(sent_);
}

void OutMessage::remove(std::size_t num) {
  sent_ += num;
  num_sent_ += num;
  while (part_ <= slices_.size() && next().empty()) {
    ++part_;
    sent_ = 0;
  }
}

}  // namespace sluice::rpc::server
