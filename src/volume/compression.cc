#include "volume/compression.h"

#include <zstd.h>

#include <memory>

#include "base/check.h"

namespace runnel::volume {
namespace {

constexpr int kLevel = 1;

struct FreeCompression {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
struct FreeDecompression {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

std::optional<std::string> compressed(std::string_view bytes) {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeCompression> context(ZSTD_createCCtx());
  CHECK(context != nullptr, "zstd has no memory");
  const std::size_t worth = bytes.size() - bytes.size() / 10;
  std::string frame(worth, '\0');
  const std::size_t size = ZSTD_compressCCtx(context.get(), frame.data(), frame.size(),
                                             bytes.data(), bytes.size(), kLevel);
  if (ZSTD_isError(size) != 0U || size >= worth) return std::nullopt;  // It does not fit.
  frame.resize(size);
  return frame;
}

Result<void> decompress(std::string_view frame, std::span<char> into) {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeDecompression> context(ZSTD_createDCtx());
  CHECK(context != nullptr, "zstd has no memory");
  const std::size_t size =
      ZSTD_decompressDCtx(context.get(), into.data(), into.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0U || size != into.size()) {
    return Error(Errc::kCorrupt, "compressed bytes are damaged");
  }
  return {};
}

}  // namespace runnel::volume
