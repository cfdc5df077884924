#pragma once

#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "control/log_source.h"

namespace runnel::control::testing {

// Output that a test writes.
class PaperLogs final : public LogSource {
 public:
  explicit PaperLogs(async::EventLoop& loop) : grown_(loop) {}

  void write(const JobId& job, const std::string& bytes) {
    model::LogPiece piece;
    piece.attempt = {{job, StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
    piece.bytes = bytes;
    piece.cursor = std::to_string(pieces_.size() + 1);
    pieces_.push_back(std::move(piece));
    grown_.notify_all();
  }

  Async<model::LogPage> read(NodeIds nodes, model::LogFilter query, std::string cursor) override {
    last_query = query;
    asked_nodes = std::move(nodes);
    const std::size_t from = cursor.empty() ? 0 : std::stoul(cursor);
    model::LogPage page;
    page.cursor = cursor;
    if (from >= pieces_.size()) co_return page;
    page.pieces.push_back(pieces_[from]);
    page.cursor = pieces_[from].cursor;
    co_return page;
  }
  Async<model::MetricPage> read_metrics(NodeIds nodes, model::MetricFilter filter) override {
    asked_nodes = std::move(nodes);
    model::MetricSample sample{3, {{"accuracy", "0.5"}, {"loss", "nan"}}};
    model::MetricPage page;
    page.series.push_back({filter.step.value_or(StepIndex(0)), TaskIndex(7), {sample}, 1});
    co_return page;
  }
  Async<std::vector<model::TaskUsage>> read_usage(NodeIds nodes, JobId) override {
    asked_nodes = std::move(nodes);
    co_return std::vector<model::TaskUsage>{{.step = "a",
                                             .task = TaskIndex(0),
                                             .attempt = AttemptNumber(1),
                                             .processes = 2,
                                             .milli_cpus = 1'250,
                                             .memory = Bytes::mebi(3)}};
  }
  Async<void> changed(NodeIds nodes, JobId, async::StopToken stop) override {
    asked_nodes = std::move(nodes);
    return grown_.wait(std::move(stop));
  }

  model::LogFilter last_query;
  NodeIds asked_nodes;  // By the last call.

 private:
  std::vector<model::LogPiece> pieces_;
  async::Notifier grown_;
};

}  // namespace runnel::control::testing
