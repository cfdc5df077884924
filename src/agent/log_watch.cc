#include "agent/log_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "env/files.h"
#include "output/open_file.h"
#include "output/paths.h"

namespace runnel::agent {

LogWatch::LogWatch(async::EventLoop& loop, env::Clock& clock, std::string home)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      gate_(loop) {}

Async<void> LogWatch::start() {
  constexpr std::size_t kOthers = 64;
  worker_ = CO_TRY(
      async::Worker::create(loop_, {.name = "agent-marks", .queued_max = 2 * kJobsMax + kOthers}));
  co_return co_await worker_->run([this]() -> Result<void> {
    folder_ = output::open_folder(home_);
    if (!folder_.valid()) return errno_error("open " + home_, errno);
    home_ = "/proc/self/fd/" + std::to_string(folder_.get());
    return {};
  });
}

Async<void> LogWatch::stop() {
  CO_TRY(co_await gate_.close());
  if (worker_ == nullptr) co_return {};
  Result<void> left = co_await worker_->stop();
  worker_.reset();
  co_return left;
}

void LogWatch::watch(const JobId& job) {
  if (jobs_.contains(job) || jobs_.size() >= kJobsMax) return;
  std::string logs = output::logs_folder(home_, job);
  auto entry = std::make_shared<Job>(logs);
  const Result<void> begun = loop_.spawn(gate_, begin(job, std::move(logs), entry));
  if (begun.ok()) jobs_.emplace(job, std::move(entry));
}

Async<void> LogWatch::begin(JobId job, std::string logs, JobPtr entry) {
  Result<int> added = co_await worker_->run([this, &logs, &entry]() -> Result<int> {
    if (entry->over) return Error(Errc::kCancelled, "nobody watches the job any more");
    TRY(env::make_directories(logs));
    if (!inotify_.valid()) return -1;
    return ::inotify_add_watch(inotify_.get(), logs.c_str(), IN_MODIFY | IN_ONLYDIR);
  });
  const auto known = jobs_.find(job);
  const bool ours = known != jobs_.end() && known->second == entry;
  if (!added.ok()) {
    if (ours) jobs_.erase(known);
    co_return {};
  }
  if (!ours) {  // A later watch of the same folder has the same descriptor.
    if (known == jobs_.end() && *added >= 0) ::inotify_rm_watch(inotify_.get(), *added);
    co_return {};
  }
  entry->descriptor = *added;
  entry->polled = *added < 0;
  if (entry->polled) ++polled_;
  if (!entry->polled) by_descriptor_[*added] = job;
  // Output that was written while nobody looked.
  co_return co_await look({{job, entry->marker, Names::kAll, {}}});
}

void LogWatch::forget_descriptor(const Job& entry) {
  if (entry.polled) --polled_;
  if (entry.descriptor < 0) return;
  ::inotify_rm_watch(inotify_.get(), entry.descriptor);
  by_descriptor_.erase(entry.descriptor);
}

void LogWatch::unwatch(const JobId& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  const JobPtr entry = found->second;
  entry->over = true;
  forget_descriptor(*entry);
  jobs_.erase(found);
  (void)loop_.spawn(gate_, look({{job, entry->marker, Names::kAll, {}}}));
  tell(job);
}

// Woken by the kernel. Between two looks the events collect.
Async<void> LogWatch::run(async::StopToken stop) {
  if (!inotify_.valid()) co_return {};
  while (true) {
    CO_TRY(co_await loop_.readable(inotify_.get(), stop));
    read_events();
    CO_TRY(co_await look(dirty()));
    CO_TRY(co_await loop_.sleep(kEvery, stop));
  }
}

Async<void> LogWatch::run_polling(async::StopToken stop) {
  while (true) {
    const Duration wait = polled_ > 0 ? kPollEvery : kQuietMax;
    CO_TRY(co_await loop_.sleep(wait, stop));
    CO_TRY(co_await look(polled()));
  }
}

// On the worker. The index grows when an attempt starts or ends: of interest to followers as well.
std::vector<JobId> LogWatch::grown(const std::vector<Look>& looks, Time now) {
  std::vector<JobId> jobs;
  for (const Look& look : looks) {
    bool grew = look.which == Names::kAll && look.marker->look_all(now);
    for (const std::string& name : look.names) {
      grew = look.marker->look(name, now) || name == "index" || grew;
    }
    if (grew) jobs.push_back(look.job);
  }
  return jobs;
}

Async<void> LogWatch::look(std::vector<Look> looks) {
  if (looks.empty()) co_return {};
  Result<std::vector<JobId>> grew =
      co_await worker_->run([&looks, now = clock_.wall()] { return grown(looks, now); });
  // Output that is not looked at now is looked at with the next, or when a follower asks.
  if (!grew.ok() && grew.error().code == Errc::kFull) co_return {};
  for (const JobId& job : CO_TRY(std::move(grew))) tell(job);
  co_return {};
}

void LogWatch::read_events() {
  alignas(inotify_event) char buffer[64 * 1024];
  while (inotify_.valid()) {
    const ssize_t got = ::read(inotify_.get(), buffer, sizeof buffer);
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, buffer + at, sizeof event);
      const char* name = buffer + at + sizeof event;
      at += static_cast<ssize_t>(sizeof event + event.len);
      const auto job = by_descriptor_.find(event.wd);
      if (job == by_descriptor_.end() || event.len == 0) continue;
      jobs_.at(job->second)->dirty.emplace(name);
    }
  }
}

std::vector<LogWatch::Look> LogWatch::dirty() {
  std::vector<Look> looks;
  for (auto& [id, job] : jobs_) {
    if (job->dirty.empty()) continue;
    looks.push_back({id, job->marker, Names::kGiven, std::exchange(job->dirty, {})});
  }
  return looks;
}

std::vector<LogWatch::Look> LogWatch::polled() const {
  std::vector<Look> looks;
  for (const auto& [id, job] : jobs_) {
    if (job->polled) looks.push_back({id, job->marker, Names::kAll, {}});
  }
  return looks;
}

void LogWatch::tell(const JobId& job) {
  const auto found = followers_.find(job);
  if (found != followers_.end()) found->second->notify_all();
}

Async<void> LogWatch::changed(JobId job, async::StopToken stop) {
  const Duration limit = watches(job) ? kQuietMax : kPollEvery;
  std::shared_ptr<async::Notifier>& slot = followers_[job];
  if (!slot) slot = std::make_shared<async::Notifier>(loop_);
  const std::shared_ptr<async::Notifier> notifier = slot;
  Result<async::Wake> woken = co_await notifier->wait_for(limit, stop);
  if (!notifier->has_waiters()) followers_.erase(job);
  CO_TRY(std::move(woken));
  co_return {};
}

}  // namespace runnel::agent
