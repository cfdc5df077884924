#include "agent/log_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "agent/log_index.h"
#include "env/files.h"

namespace runnel::agent {

LogWatch::LogWatch(async::EventLoop& loop, env::Clock& clock, std::string home)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {}

void LogWatch::watch(const JobId& job) {
  if (jobs_.contains(job) || jobs_.size() >= kJobsMax) return;
  const std::string logs = logs_folder(home_, job);
  if (!env::make_directories(logs).ok()) return;
  auto entry = std::make_unique<Job>(logs);
  if (inotify_.valid()) {
    entry->descriptor = ::inotify_add_watch(inotify_.get(), logs.c_str(), IN_MODIFY | IN_ONLYDIR);
  }
  if (entry->descriptor >= 0) {
    by_descriptor_[entry->descriptor] = job;
  } else {
    ++polled_;
  }
  // What was written while nobody looked.
  entry->marker.look_all(clock_.wall());
  jobs_.emplace(job, std::move(entry));
}

void LogWatch::unwatch(const JobId& job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Job& entry = *found->second;
  entry.marker.look_all(clock_.wall());
  if (entry.descriptor >= 0) {
    ::inotify_rm_watch(inotify_.get(), entry.descriptor);
    by_descriptor_.erase(entry.descriptor);
  } else {
    --polled_;
  }
  tell(job);
  jobs_.erase(found);
}

// Woken by the kernel. Between two looks the events collect.
Async<void> LogWatch::run(async::StopToken stop) {
  if (!inotify_.valid()) co_return {};
  while (true) {
    Result<void> ready = co_await loop_.readable(inotify_.get(), stop);
    CO_TRY(std::move(ready));
    read_events();
    look_at_dirty();
    Result<void> slept = co_await loop_.sleep(kEvery, stop);
    CO_TRY(std::move(slept));
  }
}

Async<void> LogWatch::run_polling(async::StopToken stop) {
  while (true) {
    const Duration wait = polled_ > 0 ? kPollEvery : kQuietMax;
    Result<void> slept = co_await loop_.sleep(wait, stop);
    CO_TRY(std::move(slept));
    look_at_polled();
  }
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

void LogWatch::look_at_dirty() {
  const Time now = clock_.wall();
  for (auto& [id, job] : jobs_) {
    bool grew = false;
    for (const std::string& name : std::exchange(job->dirty, {})) {
      // The index grows when an attempt starts or ends: of interest to followers as well.
      grew = job->marker.look(name, now) || name == "index" || grew;
    }
    if (grew) tell(id);
  }
}

void LogWatch::look_at_polled() {
  const Time now = clock_.wall();
  for (auto& [id, job] : jobs_) {
    if (job->descriptor < 0 && job->marker.look_all(now)) tell(id);
  }
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
