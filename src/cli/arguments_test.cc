#include "cli/arguments.h"

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

Parsed parse(std::initializer_list<const char*> words) {
  std::vector<const char*> argv = {"runnel"};
  argv.insert(argv.end(), words);
  return parse_arguments(static_cast<int>(argv.size()), argv.data());
}

TEST(Arguments, WhatFollowsTheDashesIsTheCommandsOwn) {
  const Parsed parsed = parse({"run", "--cpus", "2", "--", "python", "-o", "json", "--cpus"});
  ASSERT_TRUE(parsed.arguments.has_value()) << parsed.error;
  EXPECT_EQ(parsed.arguments->command, Command::kRun);
  EXPECT_EQ(parsed.arguments->flags.cpus, "2");
  EXPECT_EQ(parsed.arguments->flags.command,
            (std::vector<std::string>{"python", "-o", "json", "--cpus"}));
  EXPECT_EQ(parsed.arguments->output, Output::kHuman);
}

TEST(Arguments, TheWordsOfOtherSystemsAreKnown) {
  EXPECT_EQ(parse({"launch", "-f", "x.yaml"}).arguments->command, Command::kUp);
  EXPECT_EQ(parse({"squeue"}).arguments->command, Command::kPs);
  EXPECT_EQ(parse({"scancel", "id"}).arguments->command, Command::kCancel);
  EXPECT_EQ(parse({"describe", "id"}).arguments->command, Command::kShow);
  EXPECT_EQ(parse({"job", "list"}).arguments->command, Command::kPs);
}

TEST(Arguments, UpTakesAFileOrAsHyperDoesANameAndAFile) {
  EXPECT_EQ(parse({"up", "x.yaml"}).arguments->file, "x.yaml");
  EXPECT_EQ(parse({"up", "-f", "x.yaml"}).arguments->file, "x.yaml");
  const Parsed both = parse({"up", "train", "-f", "x.yaml"});
  EXPECT_EQ(both.arguments->file, "x.yaml");
  EXPECT_EQ(both.arguments->name, "train");
  EXPECT_EQ(parse({"up", "train", "-f", "x.yaml", "-n", "mine"}).arguments->name, "mine");
  EXPECT_NE(parse({"up"}).error.find("snark.yml"), std::string::npos) << "there is none here";
}

TEST(Arguments, AStudyHasVerbsOfItsOwn) {
  EXPECT_EQ(parse({"study", "create", "-f", "x.yaml"}).arguments->command, Command::kUp);
  EXPECT_EQ(parse({"study", "list"}).arguments->command, Command::kStudyList);
  const Parsed told = parse({"study", "tell", "id", "3", "--value", "-0.5", "--value", "2"});
  ASSERT_TRUE(told.arguments.has_value()) << told.error;
  EXPECT_EQ(told.arguments->command, Command::kStudyTell);
  EXPECT_EQ(told.arguments->jobs, std::vector<std::string>{"id"});
  EXPECT_EQ(told.arguments->task, 3);
  EXPECT_EQ(told.arguments->values, (std::vector<std::string>{"-0.5", "2"}));
  EXPECT_NE(parse({"study", "tell", "id"}).error.find("runnel study tell --help"),
            std::string::npos);
  EXPECT_FALSE(parse({"study", "tell", "id", "first"}).error.empty());
  EXPECT_FALSE(parse({"study"}).error.empty());
}

TEST(Arguments, AVolumeHasTheVerbsOfAShell) {
  const Parsed copied = parse({"volume", "cp", "-r", "data@v1:/a", "data:/b", "-m", "why"});
  ASSERT_TRUE(copied.arguments.has_value()) << copied.error;
  EXPECT_EQ(copied.arguments->command, Command::kVolumeCp);
  EXPECT_EQ(copied.arguments->source, "data@v1:/a");
  EXPECT_EQ(copied.arguments->target, "data:/b");
  EXPECT_EQ(copied.arguments->message, "why");
  EXPECT_EQ(parse({"volume", "mv", "data:/a", "data:/b"}).arguments->command, Command::kVolumeMv);
  EXPECT_FALSE(parse({"volume", "mv", "data:/a"}).error.empty()) << "both are needed";
  EXPECT_EQ(parse({"volume", "info", "data"}).arguments->command, Command::kVolumeShow);
}

TEST(Arguments, ASyncRemovesAndTriesOutOnRequest) {
  const Parsed plain = parse({"volume", "sync", "folder", "data:/"});
  ASSERT_TRUE(plain.arguments.has_value()) << plain.error;
  EXPECT_EQ(plain.arguments->command, Command::kVolumeSync);
  EXPECT_FALSE(plain.arguments->dry_run);
  EXPECT_FALSE(plain.arguments->remove);
  const Parsed other = parse({"volume", "sync", "data:/", "folder", "--dry-run", "--delete"});
  EXPECT_TRUE(other.arguments->dry_run);
  EXPECT_TRUE(other.arguments->remove);
}

TEST(Arguments, ARestoreGoesWhereItWasUnlessSaid) {
  const Parsed back = parse({"volume", "restore", "data@v1:/a"});
  ASSERT_TRUE(back.arguments.has_value()) << back.error;
  EXPECT_EQ(back.arguments->command, Command::kVolumeRestore);
  EXPECT_EQ(back.arguments->target, "");
  EXPECT_EQ(parse({"volume", "restore", "data@v1:/a", "data:/b"}).arguments->target, "data:/b");
  EXPECT_FALSE(parse({"volume", "snapshot", "data"}).error.empty()) << "the tag is needed";
  EXPECT_EQ(parse({"volume", "clone", "data@v1", "mine"}).arguments->target, "mine");
}

TEST(Arguments, AVersionGoesOutAndComesInAsAStream) {
  const Parsed out = parse({"volume", "dump", "data@v1", "-"});
  ASSERT_TRUE(out.arguments.has_value()) << out.error;
  EXPECT_EQ(out.arguments->command, Command::kVolumeDump);
  EXPECT_EQ(out.arguments->target, "-");
  const Parsed in = parse({"volume", "load", "-", "data", "--store", "file:///a"});
  ASSERT_TRUE(in.arguments.has_value()) << in.error;
  EXPECT_EQ(in.arguments->source, "-");
  EXPECT_EQ(in.arguments->store, "file:///a");
  EXPECT_EQ(parse({"volume", "export", "data", "x.tar"}).arguments->command,
            Command::kVolumeExport);
  EXPECT_EQ(parse({"volume", "import", "x.tar", "data:/a", "-m", "why"}).arguments->message, "why");
  EXPECT_EQ(parse({"import", "x.yaml"}).arguments->command, Command::kImport) << "a foreign file";
}

TEST(Arguments, AnUnknownCommandGetsTheNearestOne) {
  EXPECT_NE(parse({"cancle", "id"}).error.find("did you mean 'cancel'"), std::string::npos);
  EXPECT_EQ(parse({"secret", "list"}).error,
            "runnel: there is no command 'secret'\nrunnel --help lists the commands\n")
      << "`list` is a command";
  for (const auto& words : {std::initializer_list<const char*>{"--no-color", "secret", "list"},
                            {"--home", "show", "secret", "list"}}) {
    EXPECT_NE(parse(words).error.find("no command 'secret'"), std::string::npos)
        << parse(words).error;
  }
}

TEST(Arguments, AnUnknownVerbGetsTheNearestOne) {
  EXPECT_EQ(parse({"volume", "snapsho", "s"}).error,
            "runnel: there is no command 'volume snapsho'; did you mean 'volume snapshot'?\n"
            "see `runnel volume --help`\n");
  EXPECT_NE(parse({"study", "creat", "x"}).error.find("did you mean 'study create'?"),
            std::string::npos);
  EXPECT_NE(parse({"study"}).error.find("A subcommand is required"), std::string::npos);
}

TEST(Arguments, ACommandWithoutItsDashesIsShownWithThem) {
  const auto remedy = [](std::initializer_list<const char*> words) { return parse(words).error; };
  EXPECT_EQ(remedy({"run", "--cpus", "2", "python", "train.py", "--lr", "0.1"}),
            "runnel: a command goes after --: runnel run -- python train.py --lr 0.1\n");
  EXPECT_EQ(remedy({"run", "train.py", "a b"}),
            "runnel: a command goes after --: runnel run -- python train.py 'a b'\n");
  EXPECT_EQ(remedy({"run", "job.yaml", "--cpuss", "2"}).find("behind --"), std::string::npos);
}

TEST(Arguments, MissingAndWrongOnesAreUsageErrors) {
  EXPECT_FALSE(parse({"show"}).error.empty());
  EXPECT_FALSE(parse({"ps", "--limit", "0"}).error.empty());
  EXPECT_FALSE(parse({"ps", "-o", "xml"}).error.empty());
  EXPECT_FALSE(parse({"ps", "--nonsense"}).error.empty());
}

TEST(Arguments, AWrongValueIsNamedWithWhatItMayBe) {
  EXPECT_NE(
      parse({"simulate", "--schedules", "-1"}).error.find("'-1' is not a whole number from 1"),
      std::string::npos);
  EXPECT_FALSE(parse({"simulate", "--schedules", "0"}).error.empty());
  EXPECT_NE(parse({"logs", "id", "--tail", "many"}).error.find("--tail: 'many' is not"),
            std::string::npos);
  EXPECT_NE(parse({"run", "--priority", "high", "a.yaml"}).error.find("from -1000000 to 1000000"),
            std::string::npos);
  EXPECT_NE(parse({"ps", "-o", "xml"}).error.find("--output: 'xml' is not a form of output"),
            std::string::npos);
}

TEST(Arguments, ASeedOfZeroIsASeed) {
  EXPECT_EQ(parse({"simulate", "--seed", "0"}).arguments->seed, 0);
  EXPECT_EQ(parse({"simulate"}).arguments->seed, std::nullopt);
}

TEST(Arguments, HelpIsText) {
  EXPECT_NE(parse({"--help"}).text.find("explain"), std::string::npos);
  EXPECT_NE(parse({}).text.find("explain"), std::string::npos);
  EXPECT_NE(parse({"logs", "--help"}).text.find("--follow"), std::string::npos);
}

TEST(Arguments, UsageSaysWhatIsTyped) {
  EXPECT_NE(parse({"run", "--help"}).text.find("runnel run ["), std::string::npos);
  EXPECT_NE(parse({"study", "show", "--help"}).text.find("runnel study show ["), std::string::npos);
  EXPECT_NE(parse({"--help"}).text.find("runnel ["), std::string::npos);
}

TEST(Arguments, AFileMayBeGivenEitherWayAndMustBeGiven) {
  for (const char* command : {"import", "validate", "plan"}) {
    EXPECT_EQ(parse({command, "x.yaml"}).arguments->file, "x.yaml");
    EXPECT_EQ(parse({command, "-f", "x.yaml"}).arguments->file, "x.yaml");
    EXPECT_EQ(parse({command, "--help"}).text.find("REQUIRED"), std::string::npos) << command;
    EXPECT_NE(parse({command}).error.find(std::string("which file? Name it, as in `runnel ") +
                                          command + " FILE`"),
              std::string::npos)
        << parse({command}).error;
  }
}

TEST(Arguments, CompletionKnowsEveryCommand) {
  const std::string script = completion_script("bash");
  for (const char* word : {"explain", "validate", "--follow", "complete -F"}) {
    EXPECT_NE(script.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(script.find("daemon"), std::string::npos) << "hidden commands stay hidden";
}

TEST(Arguments, NearMissesGetAHint) {
  EXPECT_NE(parse({"run", "--num_nodes", "2", "a.yaml"}).error.find("did you mean --num-nodes"),
            std::string::npos);
  EXPECT_EQ(parse({"run", "--time", "5", "a.yaml"}).error.find("did you mean"), std::string::npos);
  EXPECT_NE(parse({"run", "--gpu=1", "a.yaml"}).error.find("did you mean --gpus"),
            std::string::npos);
  EXPECT_NE(parse({"squeu"}).error.find("did you mean 'squeue'"), std::string::npos);
  EXPECT_NE(parse({"ps", "--xyzzy"}).error.find("runnel ps --help"), std::string::npos);
}

TEST(Arguments, HelpAndVersionAreAlsoWords) {
  EXPECT_FALSE(parse({"help"}).text.empty());
  EXPECT_EQ(parse({"version"}).text, parse({"--version"}).text);
  EXPECT_EQ(parse({"-v"}).text, parse({"--version"}).text);
}

TEST(Arguments, FlagsOfResourcesGoWithFilesToo) {
  for (const char* command : {"run", "up", "plan", "validate"}) {
    const Parsed parsed = parse({command, "a.yaml", "--cpus", "2", "--retries", "0"});
    ASSERT_TRUE(parsed.arguments.has_value()) << command << parsed.error;
    EXPECT_EQ(parsed.arguments->flags.cpus, "2");
    EXPECT_EQ(parsed.arguments->flags.retries, "0");
  }
}

TEST(Arguments, ATaskIsExplainedByItsJobAndNeverStandsForIt) {
  EXPECT_EQ(parse({"explain", "1m80wqfeewtr/bad/0"}).arguments->jobs,
            std::vector<std::string>{"1m80wqfeewtr"});
  EXPECT_EQ(parse({"cancel", "1m80wqfeewtr", "1m80wqfeewts/bad/0"}).error,
            "runnel: '1m80wqfeewts/bad/0' is a task, and `runnel cancel` takes whole jobs: runnel "
            "cancel 1m80wqfeewts\nshow, logs, metrics and explain take tasks\n");
  for (const char* command : {"wait", "retry", "halt", "resume", "delete"}) {
    EXPECT_NE(parse({command, "1m80wqfeewtr/bad/0"}).error.find("takes whole jobs"),
              std::string::npos)
        << command;
  }
}

TEST(Arguments, TakeTabsWhereATableIsPrinted) {
  EXPECT_EQ(parse({"ps", "-o", "tsv"}).error, "");
  EXPECT_EQ(parse({"study", "export", "1m80wqfeewtr", "-o", "tsv"}).error, "");
  EXPECT_EQ(parse({"show", "1m80wqfeewtr", "--tasks", "-o", "tsv"}).error, "");
  EXPECT_EQ(parse({"explain", "1m80wqfeewtr", "-o", "tsv"}).error,
            "runnel: '-o tsv' is for commands that print a table; use -o json\n");
  EXPECT_EQ(parse({"show", "1m80wqfeewtr", "-o", "tsv"}).error,
            "runnel: '-o tsv' is for commands that print a table; use show --tasks -o tsv, or -o "
            "json\n");
}

}  // namespace
}  // namespace runnel::cli
