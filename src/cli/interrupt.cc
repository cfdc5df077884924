#include "cli/interrupt.h"

#include <unistd.h>

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

// Read by a signal's handler: the text stands before its length says so.
char last_word[kLastWordMax];
std::atomic<std::size_t> last_word_size = 0;

// The signal, which is blocked here, ends the process when this returns.
void on_end(int number) {
  (void)!::write(STDERR_FILENO, last_word, last_word_size.load());
  (void)::raise(number);
}

void say_last_word_at(int number) {
  struct sigaction now = {};
  sigaction(number, nullptr, &now);
  if (now.sa_handler != SIG_DFL) return;
  struct sigaction action = {};
  action.sa_handler = on_end;
  action.sa_flags = SA_RESETHAND;
  sigaction(number, &action, nullptr);
}

}  // namespace

void leave_last_word(std::string_view line) {
  last_word_size = 0;
  const std::size_t size = line.copy(last_word, kLastWordMax);
  last_word_size = size;
  for (const int number : {SIGTERM, SIGHUP, SIGPIPE}) say_last_word_at(number);
}

int interrupts() { return times; }

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
}

void wake_on_interrupt(http::BlockingClient* client) { waiting_client = client; }

}  // namespace runnel::cli
