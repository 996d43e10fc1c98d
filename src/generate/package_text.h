// How a package's model reads and writes text: the files that the compiler took from its folder.
#pragma once

#include "base/result.h"
#include "package/executable.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace sluice::generate {

/// Fails: kInvalidArgument if the package has none; kDataLoss for bytes that changed;
///        as `text::Tokenizer::read`.
Result<text::Tokenizer> read_tokenizer(const package::Executable& executable);

/// Fails: kNotFound if the package has none; kDataLoss for bytes that changed;
///        as `text::ChatTemplate::read`.
Result<text::ChatTemplate> read_chat_template(const package::Executable& executable);

}  // namespace sluice::generate
