#include "sluice/cli/command_table.h"

#include <array>

namespace sluice::tool {
namespace {

using enum CommandGroup;
using enum CommandProgram;

// In the order of the help: commands of a group stand together, under one heading. The first line
// of the examples is the smallest useful call.
constexpr std::array kCommands = {
    CommandInfo{"run", kModels, kSluice, "Run a model once on given inputs",
                "sluice run model.onnx --input random\n"
                "sluice run model.onnx --input image=photo.png --top 5 labels.txt\n"
                "sluice run model.sluice --input x=x.npy --output-dir results"},
    CommandInfo{"generate", kModels, kSluice, "Generate text with a language model",
                "sluice generate FOLDER \"Once upon a time\" --max-tokens 50\n"
                "sluice generate model.sluice --ids 1,15043 --temperature 0.7 --seed 1"},
    CommandInfo{"chat", kModels, kSluice, "Talk with a language model; /reset, /exit, Ctrl-C",
                "sluice chat FOLDER\n"
                "sluice chat model.sluice --system \"Be brief.\" --temperature 0.7"},
    CommandInfo{"embed", kModels, kSluice, "Print vectors of texts, or score them for a query",
                "sluice embed FOLDER \"A text\" \"Another one\"\n"
                "sluice embed FOLDER --query \"Who?\" \"A text\" \"Another one\""},
    CommandInfo{"bench", kModels, kSluice, "Measure the latency of a model",
                "sluice bench model.onnx\n"
                "sluice bench model.sluice --input x=x.npy --threads 4 --seconds 10"},
    CommandInfo{"perf", kModels, kRemote, "Measure a model under load, behind any server's door",
                "sluice perf model\n"
                "sluice perf model --http localhost:8000 --concurrency 1,8,64 --csv figures.csv\n"
                "sluice perf model --rate 100:1000:100 --poisson\n"
                "sluice perf model.onnx --in-process --concurrency 1:8"},
    CommandInfo{"plan", kModels, kRemote, "Simulate how many machines a load needs",
                "sluice plan digits.plan --calibrate digits\n"
                "sluice plan digits.plan --rate 2000 --deadline 0.1 --p99 0.05\n"
                "sluice plan digits.plan --trace requests.csv --machines 1:32 --svg plan.svg"},
    CommandInfo{"compile", kModels, kSluice, "Turn a model into a .sluice file",
                "sluice compile model.onnx\n"
                "sluice compile model.onnx --shape image=1,3,224,224 -o model.sluice\n"
                "sluice compile FOLDER --weights int8 -o model.sluice"},
    CommandInfo{"inspect", kModels, kSluice, "Show a model: signature, operations, memory plan",
                "sluice inspect model.onnx\n"
                "sluice inspect model.sluice --json"},
    CommandInfo{"explain", kModels, kSluice, "Show which backend runs each operation, and why",
                "sluice explain model.onnx\n"
                "sluice explain model.onnx --backend sim,cpu --svg segments.svg"},
    CommandInfo{"quantize", kModels, kSluice, "Compile a model to 8 bits, and print its error",
                "sluice quantize model.onnx --calibration samples\n"
                "sluice quantize model.onnx --calibration samples -o small.sluice"},
    CommandInfo{"tune", kModels, kSluice, "Store the fastest kernels of this machine in a model",
                "sluice tune model.sluice\n"
                "sluice tune model.sluice --seconds 120 -o tuned.sluice"},
    CommandInfo{"operator-times", kModels, kSluice, "Measure a model's operations on each backend",
                "sluice operator-times model.onnx -o times.json\n"
                "sluice compile model.onnx --backend cpu,reference --operator-times times.json"},
    CommandInfo{"link", kModels, kSluice, "Compile several models into one, linked by edges",
                "sluice link a=encoder.onnx b=decoder.onnx --edge a.y=b.x -o both.sluice"},
    CommandInfo{"tokenize", kModels, kSluice, "Show the tokens of a text, by a tokenizer.json",
                "sluice tokenize folder \"Hello, world\"\n"
                "sluice tokenize tokenizer.json --decode \"15496 11 995\""},
    CommandInfo{"doctor", kMachine, kSluice, "Show what this machine has, and which plug-ins load",
                "sluice doctor"},
    CommandInfo{"ls", kMachine, kSluice, "List devices: cores, memory, addresses and links",
                "sluice ls\n"
                "sluice ls --topology"},
    CommandInfo{"discover", kMachine, kSluice, "Find devices and links, and write a map of them",
                "sluice discover\n"
                "sluice discover -o devices.json"},
    CommandInfo{"completion", kMachine, kSluice,
                "Print a script that completes commands in a shell",
                "sluice completion bash\n"
                "sluice completion zsh\n"
                "sluice completion fish"},
    CommandInfo{"operators", kMachine, kSluice, "List operators and the types a backend supports",
                "sluice operators\n"
                "sluice operators --backend cpu"},
    CommandInfo{"conformance", kMachine, kSluice, "Run ONNX's test cases on a backend",
                "sluice conformance onnx/backend/test/data/node\n"
                "sluice conformance onnx/backend/test/data/node --backend cpu --filter conv"},

    CommandInfo{"serve", kDaemon, kRemote, "Serve a folder of models over HTTP and gRPC",
                "sluice serve models\n"
                "sluice serve models --poll 5 --http localhost:8080"},
    CommandInfo{"load", kDaemon, kRemote, "Load a model in the daemon; prints its handle",
                "sluice load model.onnx\n"
                "sluice load model.sluice --name classifier --depth 4"},
    CommandInfo{"infer", kDaemon, kRemote, "Run a model of the daemon on given inputs",
                "sluice infer model --input random\n"
                "sluice infer model --input image=photo.png --output-dir results\n"
                "sluice infer model --input random --repeat 1000"},
    CommandInfo{"models", kDaemon, kRemote, "List the models that the daemon has loaded",
                "sluice models"},
    CommandInfo{"stats", kDaemon, kRemote, "Show requests, errors and latencies of models",
                "sluice stats\n"
                "sluice stats model --json"},
    CommandInfo{"top", kDaemon, kRemote, "Watch devices, cores, groups, models and sessions",
                "sluice top\n"
                "sluice top --once"},
    CommandInfo{"unload", kDaemon, kRemote, "Unload a model from the daemon",
                "sluice unload model\n"
                "sluice unload model --drain 10"},
    CommandInfo{"start", kDaemon, kRemote, "Start a model that the daemon has loaded",
                "sluice start model"},
    CommandInfo{"stop", kDaemon, kRemote, "Stop a model, so that another of its group can start",
                "sluice stop model"},
    CommandInfo{"reset", kDaemon, kRemote, "Recover a model that failed, or a lost device",
                "sluice reset model\n"
                "sluice reset --device 0"},
    CommandInfo{"groups", kDaemon, kRemote, "List, create or destroy the daemon's core groups",
                "sluice groups\n"
                "sluice groups --create 4"},
    CommandInfo{"sessions", kDaemon, kRemote, "List the daemon's clients, or end one's session",
                "sluice sessions\n"
                "sluice sessions --kill 7"},
    CommandInfo{"server", kDaemon, kRemote, "Show the daemon's devices, free cores and health",
                "sluice server\n"
                "sluice server --address unix:/run/sluice.sock"},
    CommandInfo{"capacity", kDaemon, kRemote, "Show what is free here, and what each model needs",
                "sluice capacity\n"
                "sluice capacity --json --address unix:/run/sluice.sock"},
    CommandInfo{"device-plugin", kDaemon, kRemote,
                "Offer the daemon's cores to Kubernetes, in groups",
                "sluice device-plugin --cores 2\n"
                "sluice device-plugin --cores 2 --print-cdi > /etc/cdi/sluice.json"},
    CommandInfo{"monitor", kDaemon, kRemote,
                "Print the daemon's activity, a JSON line per interval",
                "sluice monitor\n"
                "sluice monitor --interval 10 --count 6"},
    CommandInfo{"timeline", kDaemon, kRemote, "Record the daemon's timeline, for ui.perfetto.dev",
                "sluice timeline\n"
                "sluice timeline --model model --seconds 10 -o model.json"},
    CommandInfo{"deploy", kFunctions, kRemote, "Deploy a model as a function, which shares cores",
                "sluice deploy model.onnx\n"
                "sluice deploy model.sluice --share 4 --memory 64m --cell"},
    CommandInfo{"deploy-graph", kFunctions, kRemote, "Deploy a graph of functions",
                "sluice deploy-graph graph.json"},
    CommandInfo{"functions", kFunctions, kRemote, "List the functions and graphs that are deployed",
                "sluice functions"},
    CommandInfo{"guest", kFunctions, kSluice, "Run a CUDA program as a guest of a shared device",
                "sluice guest run ./program\n"
                "sluice guest run --backend cuda-emulated --memory 1g -- ./program 5\n"
                "sluice guest serve --socket /run/user/1000/gpu\n"
                "sluice guest run --socket /run/user/1000/gpu ./program"},
    CommandInfo{"offer", kFunctions, kRemote, "Let other hosts fetch a tensor of the exchange",
                "sluice offer exchange:1"},
    CommandInfo{"fetch", kFunctions, kRemote, "Bring a tensor from another host, or to a device",
                "sluice fetch exchange:1@KEY --from host:9001\n"
                "sluice fetch exchange:1@KEY --from host:9001 --output-dir results\n"
                "sluice fetch exchange:1 --device 0"},
};

}  // namespace

std::span<const CommandInfo> command_table() { return kCommands; }

const CommandInfo* find_command(std::string_view name) {
  for (const CommandInfo& info : kCommands) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

const char* group_title(CommandGroup group) {
  switch (group) {
    case kModels: return "Models";
    case kMachine: return "Machine";
    case kDaemon: return "Daemon";
    case kFunctions: return "Functions";
  }
  return "";
}

}  // namespace sluice::tool
