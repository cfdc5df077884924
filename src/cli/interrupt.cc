#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace runnel::cli {
namespace {

std::atomic<int> count = 0;
std::atomic<http::BlockingClient*> waiting = nullptr;

void on_interrupt(int) {
  ++count;
  if (http::BlockingClient* client = waiting.load()) client->cancel();
}

}  // namespace

int interrupts() { return count; }

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

void wake_on_interrupt(http::BlockingClient* client) { waiting = client; }

}  // namespace runnel::cli
