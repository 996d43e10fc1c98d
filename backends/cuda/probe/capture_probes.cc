#include "probe/probe.h"

namespace sluice::cuda {
namespace {

constexpr const char* kAdd =
    R"(extern "C" __global__ void sluice_kernel(int* number, int more) {
  if (threadIdx.x == 0) *number += more;
}
)";

class Captures {
 public:
  Captures(Prober& prober, Backend& backend)
      : prober_(prober), cu_(backend.driver().table), add_(load_kernel(backend, kAdd)) {
    cu_.mem_alloc(&number_, sizeof(int));
    for (CuStream* stream : {&stream_, &side_}) {
      cu_.stream_create_with_priority(stream, kStreamNonBlocking, 0);
    }
    for (CuEvent* event : {&fork_, &join_}) cu_.event_create(event, kEventDisableTiming);
  }
  Captures(const Captures&) = delete;
  Captures& operator=(const Captures&) = delete;
  ~Captures() {
    for (const CuEvent event : {fork_, join_}) cu_.event_destroy(event);
    for (const CuStream stream : {stream_, side_}) cu_.stream_destroy(stream);
    cu_.mem_free(number_);
  }

  void run_graph() {
    cu_.memset_d32_async(number_, 0, 1, stream_);
    begin();
    add(1, stream_);
    add(10, stream_);
    CuGraph graph = nullptr;
    CuGraphExec exec = nullptr;
    prober_.say("capture ended", cu_.stream_end_capture(stream_, &graph));
    prober_.say("graph made", cu_.graph_instantiate_with_flags(&exec, graph, 0));
    cu_.graph_destroy(graph);
    for (int i = 0; i < 3; ++i) cu_.graph_launch(exec, stream_);
    int number = 0;
    cu_.memcpy_dtoh_async(&number, number_, sizeof(number), stream_);
    prober_.say("graph waited for", cu_.stream_synchronize(stream_));
    cu_.graph_exec_destroy(exec);
    prober_.say("sum of two captured additions in three launches", std::to_string(number));
  }
  void forbid() {
    CuDevicePointer address = 0;
    begin(CuCaptureMode::kRelaxed);
    prober_.say("relaxed capture, allocation", cu_.mem_alloc(&address, 4));
    end("relaxed capture");
    cu_.mem_free(address);
    begin();
    prober_.say("capture, allocation", cu_.mem_alloc(&address, 4));
    end("capture, end after an allocation");
    begin();
    prober_.say("capture, wait for its stream", cu_.stream_synchronize(stream_));
    end("capture, end after a wait");
    begin();
    prober_.say("capture, question to its stream", cu_.stream_query(stream_));
    end("capture, end after a question");
    begin();
    prober_.say("capture, begun twice", cu_.stream_begin_capture(stream_, CuCaptureMode::kGlobal));
    end("capture, end after a second beginning");
  }
  void order() {
    cu_.event_record(fork_, side_);
    begin();
    prober_.say("capture, wait for an event from outside",
                cu_.stream_wait_event(stream_, fork_, 0));
    end("capture, end after an event from outside");
    fork();
    prober_.say("capture, end without a join", end_of(stream_));
    fork();
    prober_.say("capture, end in another stream", end_of(side_));
    prober_.say("capture, end after an end in another stream", end_of(stream_));
    begin();
    cu_.event_record(join_, stream_);
    prober_.say("captured event, question", cu_.event_query(join_));
    prober_.say("capture, end after a question to its event", end_of(stream_));
  }

 private:
  void begin(CuCaptureMode mode = CuCaptureMode::kGlobal) {
    cu_.stream_begin_capture(stream_, mode);
  }
  /// A capture whose work goes on in another stream.
  void fork() {
    begin();
    cu_.event_record(fork_, stream_);
    cu_.stream_wait_event(side_, fork_, 0);
    add(1, side_);
  }
  void add(int more, CuStream stream) {
    void* parameters[] = {&number_, &more};
    cu_.launch_kernel(add_->function(), 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  }
  CuResult end_of(CuStream stream) {
    CuGraph graph = nullptr;
    const CuResult result = cu_.stream_end_capture(stream, &graph);
    if (graph != nullptr) cu_.graph_destroy(graph);
    return result;
  }
  void end(const std::string& subject) { prober_.say(subject, end_of(stream_)); }

  Prober& prober_;
  const DriverTable& cu_;
  std::shared_ptr<const LoadedKernel> add_;
  CuDevicePointer number_ = 0;
  CuStream stream_ = nullptr;
  CuStream side_ = nullptr;
  CuEvent fork_ = nullptr;
  CuEvent join_ = nullptr;
};

}  // namespace

void probe_captures(Prober& prober) {
  const auto backend = prober.start(Confine::kNothing);
  if (backend == nullptr) return;
  Captures captures(prober, *backend);
  captures.run_graph();
  captures.forbid();
  captures.order();
}

}  // namespace sluice::cuda
