#include "volume/put_source.h"

#include <utility>

namespace runnel::volume {
namespace {

class BlockingSource final : public PutSource {
 public:
  explicit BlockingSource(std::unique_ptr<SourceTree> tree) : tree_(std::move(tree)) {}

  Async<ReadBatch> next(async::Worker& worker) override {
    co_return co_await worker.run([this] { return tree_->next(); });
  }
  const std::vector<std::string>& passed_over() const override { return tree_->passed_over(); }
  std::optional<Node> root() const override { return tree_->root(); }

 private:
  const std::unique_ptr<SourceTree> tree_;
};

}  // namespace

std::unique_ptr<PutSource> source_of(std::unique_ptr<SourceTree> tree) {
  return std::make_unique<BlockingSource>(std::move(tree));
}

}  // namespace runnel::volume
