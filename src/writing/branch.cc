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

}  // namespace runnel::writing
