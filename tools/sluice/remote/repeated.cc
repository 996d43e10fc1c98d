#include "sluice/remote/repeated.h"

#include <algorithm>
#include <map>

#include "base/clock.h"

namespace sluice::tool {

/// One thread sends and takes: it never has more in flight than the daemon reads.
Result<RepeatReport> infer_repeatedly(rpc::client::Client& client, std::uint64_t model,
                                      const std::vector<terms::NamedTensor>& inputs,
                                      const rpc::client::InferOptions& options,
                                      const RepeatOptions& repeat) {
  const std::int64_t held = SLUICE_TRY(client.server()).stream_requests;
  // With more the daemon would stop reading, and this thread would block in `send` for ever.
  const std::int64_t most = std::max<std::int64_t>(std::min(repeat.in_flight, held), 1);
  const auto stream = SLUICE_TRY(client.open_stream());
  Clock& clock = system_clock();
  RepeatReport report;
  std::map<std::uint64_t, std::int64_t> sent_ns;  // of those in flight, by number
  const std::int64_t start_ns = clock.now_ns();
  std::int64_t num_sent = 0;
  for (std::int64_t num_answered = 0; num_answered < repeat.count; ++num_answered) {
    bool is_open = true;
    while (is_open && num_sent < repeat.count && num_sent - num_answered < most) {
      sent_ns[static_cast<std::uint64_t>(num_sent)] = clock.now_ns();
      is_open = stream->send(static_cast<std::uint64_t>(num_sent), model, inputs, options).is_ok();
      ++num_sent;  // if it has ended, `next` tells why
    }
    auto answer = SLUICE_TRY(stream->next());
    const auto sent = answer ? sent_ns.find(answer->id) : sent_ns.end();
    if (sent == sent_ns.end()) {
      return make_error(Code::kInternal, "the daemon answered other requests than the client sent");
    }
    if (answer->reply.is_ok()) {
      report.figures.latencies_ns.push_back(clock.now_ns() - sent->second);
      report.last = std::move(*answer->reply);
    } else if (report.figures.num_failed++ == 0) {
      report.figures.first_error = answer->reply.status();
    }
    sent_ns.erase(sent);
  }
  report.figures.duration_ns = clock.now_ns() - start_ns;
  return report;
}

}  // namespace sluice::tool
