#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "store/batch.h"
#include "store/checks.h"

// A batch that decodes is the one text it was decoded from; nothing else decodes, and nothing
// crashes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const runnel::Result<runnel::store::Batch> batch = runnel::store::parse_batch(text);
  if (batch.ok()) {
    CHECK(runnel::store::canonical_text(*batch) == text, "decoding and encoding are inverse");
    CHECK(batch->event_count >= 0, "a decoded batch has a number of events");
  }
  const runnel::Result<runnel::store::PagePlace> place = runnel::store::parse_page_token(text);
  if (place.ok()) {
    const std::string token = runnel::store::page_token(*place);
    CHECK(MUST(runnel::store::parse_page_token(token)).key == place->key, "a token keeps its key");
  }
  return 0;
}
