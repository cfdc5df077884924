// `main` of all unit tests. A test that hangs is named: ctest ends a whole binary, and gtest tells
// nothing then.

#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

namespace {

constexpr unsigned kLongS = 120;

// What a handler of a signal may read: set while no alarm is due.
std::string running;

void tell(int /*signal*/) {
  const ssize_t written = ::write(STDERR_FILENO, running.data(), running.size());
  (void)written;
  ::alarm(kLongS);
}

class TellsOfLongTests final : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo& test) override {
    ::alarm(0);
    running = std::string("still running: ") + test.test_suite_name() + "." + test.name() + "\n";
    struct sigaction action = {};
    action.sa_handler = tell;
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &action, nullptr);
    ::alarm(kLongS);
  }
  void OnTestEnd(const testing::TestInfo& /*test*/) override { ::alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new TellsOfLongTests);
  return RUN_ALL_TESTS();
}
