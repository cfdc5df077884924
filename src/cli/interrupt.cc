#include "cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace runnel::cli {
namespace {

std::atomic<int> times = 0;
std::atomic<http::BlockingClient*> waiting_client = nullptr;

void on_interrupt(int) {
  ++times;
  if (http::BlockingClient* client = waiting_client.load()) client->cancel();
}

}  // namespace

int interrupts() { return times; }

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

void wake_on_interrupt(http::BlockingClient* client) { waiting_client = client; }

}  // namespace runnel::cli
