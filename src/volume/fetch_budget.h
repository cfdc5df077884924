#pragma once

#include <cstdint>
#include <list>

namespace runnel::volume {

// Bytes that are on their way into memory, for all who fetch in a process: who comes too late waits
// for those before.
//
// Threads:  none of its own.
// Lifetime: fetchers leave, and give back what they took, before it ends.
// Limits:   `bytes_max` at a time, or one request alone that is larger.
class FetchBudget {
 public:
  class Fetcher {
   public:
    Fetcher() = default;
    Fetcher(const Fetcher&) = delete;
    Fetcher& operator=(const Fetcher&) = delete;
    virtual ~Fetcher() = default;
    // There may be room: it takes some, or leaves.
    virtual void fetch_more() = 0;
  };

  explicit FetchBudget(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  FetchBudget(const FetchBudget&) = delete;
  FetchBudget& operator=(const FetchBudget&) = delete;

  // Whether so many may be fetched now. If not, fetch_more() is called later.
  bool take(Fetcher& fetcher, std::uint64_t bytes);
  void give_back(std::uint64_t bytes);
  void leave(Fetcher& fetcher);  // It waits no longer.

  std::uint64_t taken() const { return taken_; }

 private:
  const std::uint64_t bytes_max_;
  std::uint64_t taken_ = 0;
  std::list<Fetcher*> waiting_;
};

}  // namespace runnel::volume
