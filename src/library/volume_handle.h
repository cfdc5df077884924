#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "library/open_version.h"

namespace runnel::library {

// A volume as its user holds it, also in children of fork.
//
// Contract: who asks has the version open in its own process. A child, in which the parent's
//           threads do not exist, opens it anew with its first question, and neither locks, ends
//           nor frees what is the parent's. So does a process whose session was taken for dead.
// Threads:  any, several at once; not those of a destructor.
// Why:      by pid, and not by a handler of fork: what is not used in a child costs it nothing.
class VolumeHandle {
 public:
  // Opens it here and now. kNotFound when there is no such volume or version.
  static Result<std::unique_ptr<VolumeHandle>> open(Opening opening);
  // To be opened by the first question: the reference is a whole one.
  explicit VolumeHandle(Opening opening);
  ~VolumeHandle();
  VolumeHandle(const VolumeHandle&) = delete;
  VolumeHandle& operator=(const VolumeHandle&) = delete;

  const Reference& reference() const { return opening_.reference; }

  // kGone when it was closed, kNotFound when the version is no more.
  template <typename T>
  Result<T> ask(const Question<T>& question) {
    std::shared_ptr<OpenVersion> ended;
    for (int tries = 1;; ++tries) {
      const std::shared_ptr<OpenVersion> open = TRY(open_here(ended.get()));
      Result<T> answer = open->ask<T>(question);
      if (answer.ok() || !says_ended(answer.error()) || tries == kTries) return answer;
      ended = open;
    }
  }
  // Ends it in this process, for good.
  void close();

 private:
  static constexpr int kTries = 2;

  // Of one process.
  struct Here {
    const pid_t pid = ::getpid();
    std::mutex mutex;
    std::shared_ptr<OpenVersion> open;  // Under the mutex.
  };

  Here& here();
  static bool says_ended(const Error& error);
  // Another one than `ended`, which is to be put away where it is still here.
  Result<std::shared_ptr<OpenVersion>> open_here(const OpenVersion* ended);

  Opening opening_;
  std::atomic<Here*> here_;  // Owned where it is of this process.
  std::atomic<bool> closed_ = false;
};

}  // namespace runnel::library
