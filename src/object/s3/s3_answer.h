#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "object/object_store.h"

namespace runnel::object {

// Which request an answer is to, for its error.
struct Asked {
  std::string store;  // "s3://bucket/prefix"
  std::string key;
  bool conditional = false;
};

// The error that an answer of S3 tells, by its code and, without one, by its status: what it means
// for the request (object_store.h), in a sentence with the remedy.
Error s3_error(const http::Response& answer, const Asked& asked);

// An ETag as a stamp: lists of some stores have it without its quotes.
std::string_view without_quotes(std::string_view etag);

// A page of ListObjectsV2. Keys come without `prefix`, which all of them begin with. kCorrupt for
// what is no such document, kUnsupported for a page that goes on with no later key than `after`,
// which was asked for: its next one would be the same for ever.
Result<ListPage> parse_list(const std::string& body, const std::string& prefix,
                            const std::string& after = "");

}  // namespace runnel::object
