#include "control/command_line.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

std::string of_script(std::string script) {
  model::StepSpec step;
  step.run = model::Command::shell(std::move(script));
  return command_line(step);
}

std::string of_words(std::vector<std::string> words) {
  model::StepSpec step;
  step.run = model::Command::words(std::move(words));
  return command_line(step);
}

TEST(CommandLine, IsTheFirstLineOfAScriptThatDoesSomething) {
  EXPECT_EQ(of_script("python train.py\n"), "python train.py");
  EXPECT_EQ(of_script("\n# Trains.\n  torchrun train.py \ncp -r out /data\n"),
            "torchrun train.py ...");
  EXPECT_EQ(of_script("# Nothing."), "");
}

TEST(CommandLine, IsACommandAsAShellWouldTakeIt) {
  EXPECT_EQ(of_words({"python", "train.py", "--lr=0.1"}), "python train.py --lr=0.1");
  EXPECT_EQ(of_words({"sh", "-c", "echo 'a b'", ""}), R"(sh -c 'echo '\''a b'\''' '')");
}

TEST(CommandLine, IsEmptyForWhatIsAskedFromOutside) { EXPECT_EQ(command_line({}), ""); }

TEST(CommandLine, TearsNoCharacterWhereItIsCut) {
  const std::string most(kCommandLineBytesMax - 1, 'x');
  EXPECT_EQ(of_script(most + "\u00e9\u00e9"), most + "...");
}

}  // namespace
}  // namespace runnel::control
