// The files of a model that say how it reads and writes text.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::tool {

/// "tokenizer.json", "tokenizer_config.json", .. as a folder of Hugging Face has them.
using TextFiles = std::map<std::string, Bytes>;

/// Reads a folder, a GGUF file, a .sluice file, or else a tokenizer.json. Reads no weights.
/// Fails: kNotFound, kInvalidArgument, kUnimplemented; kDataLoss for a package whose bytes changed.
Result<TextFiles> read_text_files(const std::filesystem::path& path);

/// Fails: kNotFound without such a file; as text::Tokenizer::read.
Result<text::Tokenizer> tokenizer_of(const TextFiles& files);
/// Fails: as text::ChatTemplate::read.
Result<text::ChatTemplate> chat_template_of(const TextFiles& files);

}  // namespace sluice::tool
