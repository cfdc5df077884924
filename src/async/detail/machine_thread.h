#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "async/driver.h"

namespace runnel::async::detail {

// A thread of the system that posts to its driver.
class MachineThread final : public Driver::Thread {
 public:
  static Result<std::unique_ptr<Driver::Thread>> start(Driver& driver, const std::string& name);
  ~MachineThread() override;
  MachineThread(const MachineThread&) = delete;
  MachineThread& operator=(const MachineThread&) = delete;

  void run(Driver::Action call, Driver::Action done) override;
  void end(Driver::Action ended) override;

 private:
  struct Job {
    Driver::Action call;
    Driver::Action done;
  };

  explicit MachineThread(Driver& driver) : driver_(driver) {}
  bool pop(Job& job);
  void serve(const std::string& name) noexcept;

  Driver& driver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;  // Under mutex.
  bool ending_ = false;   // Under mutex.
  Driver::Action ended_;  // Under mutex.
  std::thread thread_;
};

}  // namespace runnel::async::detail
