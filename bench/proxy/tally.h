#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fault_rules.h"
#include "json/writer.h"
#include "throttle.h"

namespace runnel::bench {

// One request that has been answered, or has failed.
struct Visit {
  std::string method;
  std::string target;
  int status = 0;        // 0: it had no answer.
  std::uint64_t up = 0;  // Bytes of bodies.
  std::uint64_t down = 0;
  SteadyClock::time_point begun;
};

// What has passed, by method, and each of the last requests by itself.
//
// Threads: any.
// Limits:  kTraceMax requests are told one by one.
class Tally {
 public:
  static constexpr std::size_t kTraceMax = 200'000;

  void zero() {
    const std::lock_guard lock(mutex_);
    begun_ = SteadyClock::now();
    connections_ = 0;
    methods_.clear();
    faults_.clear();
    trace_.clear();
  }
  void add_connection() {
    const std::lock_guard lock(mutex_);
    ++connections_;
  }
  void add(Visit visit) {
    const std::lock_guard lock(mutex_);
    Sum& sum = methods_[visit.method];
    ++sum.requests;
    sum.up += visit.up;
    sum.down += visit.down;
    if (trace_.size() < kTraceMax) trace_.emplace_back(std::move(visit), SteadyClock::now());
  }
  void add(Fault fault) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, each] : kFaults) {
      if (each == fault) ++faults_[std::string(name)];
    }
  }

  // {"connections":1,"faults":{"500":1},"methods":{"GET":{"down":1,"requests":1,"up":0}}}
  std::string counts() {
    const std::lock_guard lock(mutex_);
    std::string text;
    json::Writer out(text);
    out.begin_object().field("connections", connections_).key("faults").begin_object();
    for (const auto& [name, count] : faults_) out.field(name, count);
    out.end_object().key("methods").begin_object();
    for (const auto& [method, sum] : methods_) {
      out.key(method).begin_object().field("down", sum.down).field("requests", sum.requests);
      out.field("up", sum.up).end_object();
    }
    out.end_object().end_object();
    return text;
  }

  // {"visits":[[method, target, status, bytes up, bytes down, begin, end], ...]}, in microseconds
  // since the counts were zero.
  std::string trace() {
    const std::lock_guard lock(mutex_);
    std::string text;
    json::Writer out(text);
    out.begin_object().key("visits").begin_list();
    for (const auto& [visit, end] : trace_) {
      out.begin_list().text(visit.method).text(visit.target).integer(visit.status);
      out.integer(static_cast<std::int64_t>(visit.up));
      out.integer(static_cast<std::int64_t>(visit.down));
      out.integer(since_zero(visit.begun)).integer(since_zero(end)).end_list();
    }
    out.end_list().end_object();
    return text;
  }

 private:
  struct Sum {
    std::uint64_t requests = 0;
    std::uint64_t up = 0;
    std::uint64_t down = 0;
  };
  std::int64_t since_zero(SteadyClock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::microseconds>(time - begun_).count();
  }

  std::mutex mutex_;
  SteadyClock::time_point begun_ = SteadyClock::now();  // Under the mutex, as the next.
  std::uint64_t connections_ = 0;
  std::map<std::string, Sum> methods_;
  std::map<std::string, std::uint64_t> faults_;
  std::vector<std::pair<Visit, SteadyClock::time_point>> trace_;  // With their ends.
};

}  // namespace runnel::bench
