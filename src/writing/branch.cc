#include "writing/branch.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::writing {

Async<std::unique_ptr<Branch>> Branch::open(async::EventLoop& loop, Site site, std::string base) {
  std::unique_ptr<Branch> branch(new Branch());
  const auto visit = [&branch](const LoggedRecord& logged) {
    return branch->overlay_.apply(logged);
  };
  WriteLog::Opened opened = CO_TRY(co_await WriteLog::open(
      loop, std::move(site.files), std::move(site.owner), site.nonce, visit, site.segment));
  branch->log_ = std::move(opened.log);
  branch->lost_ = opened.lost;
  // One that was killed before its first record was there has none.
  if (!branch->overlay_.base()) MUST(branch->change({.request = {}, .change = Based{base}}));
  co_return branch;
}

Result<LoggedRecord> Branch::change(Record record) {
  LoggedRecord logged = TRY(log_->append(std::move(record)));
  const Result<void> fits = overlay_.apply(logged);
  CHECK(fits.ok(), "a log is given a change that does not go on from what is there");
  return logged;
}

Async<void> Branch::begin_anew(std::string published) {
  const auto checkpoint = [this, &published] {
    ++begun_anew_;
    overlay_.end_publish(published);
    std::vector<Record> records = overlay_.checkpoint();
    overlay_ = Overlay();
    return records;
  };
  CO_TRY(co_await log_->begin_anew(
      checkpoint, [this](const LoggedRecord& logged) { return overlay_.apply(logged); }));
  co_return co_await log_->remove_unused(overlay_.files());
}

Async<void> Branch::begin_over(std::string base) {
  CHECK(!overlay_.frozen(), "a branch begins over in the midst of a publish");
  const auto checkpoint = [this, &base] {
    ++begun_anew_;
    overlay_ = Overlay();
    return std::vector<Record>{{.request = {}, .change = Based{base}}};
  };
  CO_TRY(co_await log_->begin_anew(
      checkpoint, [this](const LoggedRecord& logged) { return overlay_.apply(logged); }));
  co_return co_await log_->remove_unused({});
}

Result<void> Branch::commit_all() {
  std::vector<Change> commits;
  for (const auto& [inode, node] : overlay_.nodes()) {
    const bool is_written = node->content.has_uncommitted() || !node->content.is_committed();
    if (node->has_name() && node->is_file() && is_written) commits.emplace_back(Commit{inode});
  }
  return change_each(std::move(commits));
}

Result<void> Branch::close_all() {
  std::vector<Change> ends;
  for (const auto& [inode, node] : overlay_.nodes()) {
    if (!node->has_name() && !node->is_closed) ends.emplace_back(Closed{inode});
  }
  TRY(change_each(std::move(ends)));
  return commit_all();
}

Result<void> Branch::change_each(std::vector<Change> changes) {
  for (Change& each : changes) TRY(change({.request = {}, .change = std::move(each)}));
  return {};
}

}  // namespace runnel::writing
