/* Language models in C: texts by a model that `sluice compile` made of a folder of Hugging Face.
 *
 *   tokenizer  text to tokens and back, and chats as the model reads them
 *   generator  a text at a time, token by token
 *   embedder   vectors of texts, and scores of pairs of texts
 *
 * Conventions as in sluice/sluice.h. Texts are UTF-8. What a function returns through a pointer to
 * const is freed with sluice_release (sluice/runtime.h) unless stated otherwise.
 */
#ifndef SLUICE_GENERATE_H_
#define SLUICE_GENERATE_H_

#include "sluice/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tokenizers ----------------------------------------------------------------------------- */

/* Immutable; usable from any thread, also after the model is closed. */
typedef struct sluice_tokenizer sluice_tokenizer;

typedef struct sluice_tokens {
  size_t num_ids;
  const int64_t* ids; /* [num_ids] */
} sluice_tokens;

typedef struct sluice_string {
  const char* data;  /* a zero follows */
  size_t size_bytes; /* without that zero */
} sluice_string;

/* The tokenizer and the chat template of the model's package. They are read by the first call for a
 * model, which takes up to a second for a large vocabulary. Free with sluice_tokenizer_free.
 * Fails: INVALID_ARGUMENT for a model without tokenizer.json; DATA_LOSS for a damaged package;
 * UNIMPLEMENTED for a kind of tokenizer that is not supported, by its name. */
SLUICE_API sluice_code sluice_tokenizer_create(const sluice_model* model,
                                               sluice_tokenizer** tokenizer);
/* Null is allowed. */
SLUICE_API void sluice_tokenizer_free(sluice_tokenizer* tokenizer);

/* Number of tokens, added ones included. */
SLUICE_API size_t sluice_tokenizer_vocabulary_size(const sluice_tokenizer* tokenizer);
/* The id of a token as tokenizer.json spells it; -1 if there is none. */
SLUICE_API int64_t sluice_tokenizer_find(const sluice_tokenizer* tokenizer, const char* piece);
/* How tokenizer.json spells the token `id`. Fails: NOT_FOUND. */
SLUICE_API sluice_code sluice_tokenizer_piece(const sluice_tokenizer* tokenizer, int64_t id,
                                              const sluice_string** piece);

/* Do not add the special tokens that the model wants around a text, or when decoding, keep all. */
#define SLUICE_TOKENS_PLAIN 1
/* Read special tokens within a text as ordinary characters: for text that is not trusted. */
#define SLUICE_TOKENS_LITERAL 2

/* The tokens of `text`. `flags`: SLUICE_TOKENS_, or 0. Fails: INVALID_ARGUMENT for what is no UTF-8
 * and for more than 16 MiB; RESOURCE_EXHAUSTED where an expression of the file takes too many
 * steps. */
SLUICE_API sluice_code sluice_tokenizer_encode(const sluice_tokenizer* tokenizer, const char* text,
                                               size_t size_bytes, uint32_t flags,
                                               const sluice_tokens** tokens);
/* What tokens say, without special ones unless `flags` has SLUICE_TOKENS_PLAIN. Ids that are no
 * token are left out; bytes that form no character become U+FFFD. */
SLUICE_API sluice_code sluice_tokenizer_decode(const sluice_tokenizer* tokenizer,
                                               const int64_t* ids, size_t num_ids, uint32_t flags,
                                               const sluice_string** text);
/* A chat as the model reads it, by the template of its authors, which writes the special tokens:
 * encode the text with SLUICE_TOKENS_PLAIN. `chat`: a JSON list of messages, such as
 * [{"role": "user", "content": "Hello"}], or an object with "messages", "tools",
 * "add_generation_prompt" (true by default) and what else the template reads.
 * Fails: NOT_FOUND for a model without a chat template; INVALID_ARGUMENT for a damaged chat or one
 * that the template refuses, in its words; RESOURCE_EXHAUSTED for too long a text. */
SLUICE_API sluice_code sluice_tokenizer_apply_chat_template(const sluice_tokenizer* tokenizer,
                                                            const char* chat,
                                                            const sluice_string** text);

/* ---- generators ----------------------------------------------------------------------------- */

/* Writes a text at a time. Use a generator from one thread at a time; a concurrent call fails with
 * FAILED_PRECONDITION. Several generators of one model run in parallel. A generator keeps its model
 * alive. */
typedef struct sluice_generator sluice_generator;

/* Fields of sluice_generate_request that are given; for others the model's authors' advice holds
 * (generation_config.json), else the likeliest token is taken. */
#define SLUICE_GIVEN_TEMPERATURE 1
#define SLUICE_GIVEN_TOP_K 2
#define SLUICE_GIVEN_TOP_P 4
#define SLUICE_GIVEN_MIN_P 8
#define SLUICE_GIVEN_REPETITION_PENALTY 16
#define SLUICE_GIVEN_SEED 32
#define SLUICE_GIVEN_MAX_TOKENS 64
#define SLUICE_GIVEN_TOP_LOGPROBS 128
#define SLUICE_GIVEN_PRESENCE_PENALTY 256
#define SLUICE_GIVEN_FREQUENCY_PENALTY 512

/* Added to the logit of a token before the choice: -100 keeps it out of most texts, 100 takes it
 * alone. */
typedef struct sluice_logit_bias {
  int64_t token;
  float bias; /* -100 to 100 */
  int32_t reserved;
} sluice_logit_bias;

/* What to generate. All fields but struct_size may be zero. Exactly one of `prompt`, `ids` and
 * `chat` is the prompt. The call borrows all pointers but `is_stopped` and its `user_data`. */
typedef struct sluice_generate_request {
  uint32_t struct_size; /* sizeof(sluice_generate_request) */
  uint32_t given;       /* SLUICE_GIVEN_ of the fields that count */
  const char* prompt;   /* a text */
  size_t prompt_bytes;
  const int64_t* ids; /* [num_ids] its tokens */
  size_t num_ids;
  const char* chat;         /* as for sluice_tokenizer_apply_chat_template */
  int64_t max_tokens;       /* after the prompt; not given: up to the model's context */
  float temperature;        /* 0 takes the likeliest token */
  float top_p;              /* draw from the likeliest tokens that have this share together */
  float min_p;              /* draw from tokens with this share of the likeliest one's */
  float repetition_penalty; /* above 1: tokens of the text become less likely */
  int64_t top_k;            /* draw from so many of the likeliest tokens; 0: from all */
  uint64_t seed;            /* of the draws; equal seeds give equal texts; not given: any */
  const char* const* stops; /* [num_stops] texts that end the text, which does not contain them */
  size_t num_stops;
  const int64_t* stop_ids; /* [num_stop_ids] tokens that end the text besides the model's */
  size_t num_stop_ids;
  /* Asked on the thread of sluice_generator_next, before each run of the model and every few
   * milliseconds during one: not 0 ends the text at once. May be null. It must not call Sluice, and
   * is called until the next sluice_generator_start, or the end of the generator. */
  int32_t (*is_stopped)(void* user_data);
  void* user_data;
  int64_t top_logprobs; /* logprobs of each token, and of so many of the likeliest ones */
  /* What the text must be, and with the temperature's draws among what it may be: one of both, or
   * null. The text is cut where max_tokens or the context end before it. */
  const char* schema;  /* a JSON schema that the text, which is JSON, fits */
  const char* grammar; /* a grammar in GBNF, the notation of llama.cpp */
  /* As OpenAI's, -2 to 2; the prompt does not count. Where the text has a token c > 0 times, its
   * logit loses presence_penalty + c * frequency_penalty. */
  float presence_penalty;
  float frequency_penalty;
  const sluice_logit_bias* logit_bias; /* [num_logit_bias], at most 1,024 */
  size_t num_logit_bias;
  /* [num_bad_words] texts whose tokens, as they stand at the begin of a text or behind a space, the
   * text has not; at most 512. Other tokens may spell them. */
  const char* const* bad_words;
  size_t num_bad_words;
  /* The name of an adapter that `sluice compile --adapter` gave the model: the text is computed
   * with it. Null: the model alone. */
  const char* adapter;
} sluice_generate_request;

/* How likely the model found a token, whatever the sampling made of it. */
typedef struct sluice_token_logprob {
  int64_t token;
  float logprob; /* natural logarithm of the probability */
  int32_t reserved;
} sluice_token_logprob;

/* A part of a text, for each token of it. */
typedef struct sluice_piece {
  const char* text;     /* whole characters, "" within one; a zero follows */
  size_t size_bytes;    /* of the text */
  int64_t token;        /* -1: the end of the text, held back until now */
  int32_t has_logprobs; /* 1: the request wants them, and the piece has a token */
  float logprob;        /* of the token */
  size_t num_top;
  const sluice_token_logprob* top; /* [num_top] the likeliest tokens in order */
} sluice_piece;

/* Why a text ended. */
enum {
  SLUICE_FINISH_NONE = 0,     /* it goes on */
  SLUICE_FINISH_STOP = 1,     /* the model ended it, or a stop */
  SLUICE_FINISH_TOKENS = 2,   /* max_tokens */
  SLUICE_FINISH_CONTEXT = 3,  /* it is as long as the model's context */
  SLUICE_FINISH_CANCELLED = 4 /* is_stopped said so */
};

/* Creates a generator with memory for one text, which grows with it. Free with
 * sluice_generator_free. Fails: INVALID_ARGUMENT for a model that generates no text; as
 * sluice_tokenizer_create, but a model without tokenizer.json takes `ids`, and its texts are the
 * ids of their tokens, "5 17 3". */
SLUICE_API sluice_code sluice_generator_create(sluice_model* model, sluice_generator** generator);
/* Null is allowed. */
SLUICE_API void sluice_generator_free(sluice_generator* generator);

/* The most tokens of a text, its prompt included; 0 for null. */
SLUICE_API int64_t sluice_generator_context(const sluice_generator* generator);

/* Begins a text and ends the former one. Computes nothing yet; what the prompt shares with the
 * former text is not computed again. Fails: INVALID_ARGUMENT for settings out of range, an empty
 * prompt, or ids that are no token; NOT_FOUND for an adapter that the model lacks; OUT_OF_RANGE,
 * naming both lengths, where the prompt and max_tokens exceed the context; UNIMPLEMENTED, by its
 * name, for a word of the schema that is not supported; as sluice_tokenizer_encode and
 * sluice_tokenizer_apply_chat_template. */
SLUICE_API sluice_code sluice_generator_start(sluice_generator* generator,
                                              const sluice_generate_request* request);
/* The next piece; null at the end of the text. The first call computes the prompt. The piece is
 * the generator's, until the next call. Blocks. Fails: FAILED_PRECONDITION before
 * sluice_generator_start; RESOURCE_EXHAUSTED without memory for a longer text; DATA_LOSS where the
 * model computes no finite numbers. */
SLUICE_API sluice_code sluice_generator_next(sluice_generator* generator,
                                             const sluice_piece** piece);

/* Why the text ended: SLUICE_FINISH_, NONE while it goes on and for null. */
SLUICE_API int32_t sluice_generator_finish(const sluice_generator* generator);
/* Tokens of the prompt, and of the text so far; 0 for null. */
SLUICE_API int64_t sluice_generator_num_prompt_tokens(const sluice_generator* generator);
SLUICE_API int64_t sluice_generator_num_tokens(const sluice_generator* generator);

/* ---- embedders ------------------------------------------------------------------------------ */

/* Vectors of texts, or scores of pairs of texts, by a model such as BERT. Use an embedder from one
 * thread at a time; a concurrent call fails with FAILED_PRECONDITION. Several embedders of a model
 * run in parallel. An embedder keeps its model alive. */
typedef struct sluice_embedder sluice_embedder;

/* Free with sluice_embedder_free. Fails: INVALID_ARGUMENT for a model that makes neither vectors
 * nor scores; as sluice_tokenizer_create. */
SLUICE_API sluice_code sluice_embedder_create(sluice_model* model, sluice_embedder** embedder);
/* Null is allowed. */
SLUICE_API void sluice_embedder_free(sluice_embedder* embedder);

/* Numbers of a vector; 0 for a model that scores pairs, and for null. */
SLUICE_API int64_t sluice_embedder_width(const sluice_embedder* embedder);
/* The most tokens of a text, special ones included; 0 for null. */
SLUICE_API int64_t sluice_embedder_context(const sluice_embedder* embedder);

/* Writes a vector for each text to `vectors`, [num_texts, width]. `texts` end with a zero. The call
 * divides long lists into runs of about equal lengths. Blocks. Fails: INVALID_ARGUMENT for a model
 * of scores and for what is no UTF-8; OUT_OF_RANGE, naming both lengths, for a text beyond the
 * context; DATA_LOSS where the model computes no finite numbers. */
SLUICE_API sluice_code sluice_embedder_embed(sluice_embedder* embedder, const char* const* texts,
                                             size_t num_texts, float* vectors);
/* Writes to `scores`, [num_documents], how well each document answers the query. Fails: as above,
 * with INVALID_ARGUMENT for a model of vectors. */
SLUICE_API sluice_code sluice_embedder_score(sluice_embedder* embedder, const char* query,
                                             const char* const* documents, size_t num_documents,
                                             float* scores);

#ifdef __cplusplus
}
#endif
#endif /* SLUICE_GENERATE_H_ */
