"""Each check of tools/tidy finds its planted violation, and is silent about the code beside it."""

import json
from pathlib import Path

import pytest

from tools.tidy import blocks, lengths
from tools.tidy.__main__ import violations
from tools.tidy.repository import Repository, parse_modules
from tools.tidy.source import Source

TABLE = """
runnel_module(base  0 EDGES PURE)
runnel_module(env   1 EDGES base)
runnel_module(async 2 EDGES base env)
runnel_module(brain 4 EDGES base PURE)
runnel_module(agent 5 EDGES base env async)
"""

CLEAN = {
    "cmake/modules.cmake": TABLE,
    "ARCHITECTURE.md": "| `base` | results |\n| `env` | seams |\n- `async`: loops\n- `brain`: decides\n| `agent` | acts |\n",
    "src/base/result.h": "#pragma once\n\nnamespace runnel {\n\nstruct Result {};\n\n}  // namespace runnel\n",
    "src/base/result.cc": '#include "base/result.h"\n\n#include <string>\n\nnamespace runnel {}\n',
    "src/base/result_test.cc": '#include "base/result.h"\n\n#include <gtest/gtest.h>\n',
    "src/env/clock.h": "#pragma once\n\nnamespace runnel::env {}\n",
    "src/env/clock.cc": '#include "env/clock.h"\n\n'
    "#include <unistd.h>\n\nnamespace runnel::env {\nvoid f() { clock_gettime(CLOCK_BOOTTIME, &now); }\n}\n",
}


def write(root: Path, files: dict[str, str]) -> Repository:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Repository(root)


def found(root: Path, files: dict[str, str]) -> list[str]:
    return [f"{item.path}: {item.check}" for item in violations(write(root, {**CLEAN, **files}))]


def in_namespace(module: str, body: str, includes: str = "") -> str:
    return f"{includes}\nnamespace runnel::{module} {{\n{body}\n}}\n"


def test_clean_repository_has_no_violation(tmp_path):
    assert found(tmp_path, {}) == []


LONG_LINE = "int " + "x" * 100 + ";"

PLANTED = [
    # layers
    ("src/base/up.cc", '#include "env/clock.h"\nnamespace runnel {}\n', "edge"),
    ("src/nowhere/thing.cc", "namespace runnel::nowhere {}\n", "edge"),
    ("src/base/relative.cc", '#include "result.h"\nnamespace runnel {}\n', "include"),
    ("src/agent/parse.cc", in_namespace("agent", "", "#include <boost/json.hpp>"), "header"),
    ("src/agent/other.cc", in_namespace("agent", "", "#include <boost/spirit/home/x3.hpp>"), "header"),
    ("src/agent/unknown.cc", in_namespace("agent", "", "#include <curses/new.hpp>"), "header"),
    ("src/agent/tested.cc", in_namespace("agent", "", "#include <gtest/gtest.h>"), "header"),
    ("src/agent/print.cc", in_namespace("agent", "", "#include <iostream>"), "header"),
    ("src/brain/os.cc", in_namespace("brain", "", "#include <unistd.h>"), "header"),
    ("src/brain/threads.cc", in_namespace("brain", "", "#include <thread>"), "header"),
    # bans
    ("src/agent/a.cc", in_namespace("agent", "auto t = std::chrono::steady_clock::now();"), "clock"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { clock_gettime(CLOCK_REALTIME, &t); }"), "clock"),
    ("src/agent/a.cc", in_namespace("agent", "auto t = time(nullptr);"), "clock"),
    ("src/agent/a.cc", in_namespace("agent", "std::random_device d;"), "chance"),
    ("src/agent/a.cc", in_namespace("agent", "int n = rand();"), "chance"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { std::this_thread::sleep_for(1s); }"), "sleep"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { usleep(3); }"), "sleep"),
    ("src/agent/a.cc", in_namespace("agent", "std::thread worker;"), "thread"),
    ("src/agent/a.cc", in_namespace("agent", 'auto* v = std::getenv("HOME");'), "environment"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { if (fork() == 0) return; }"), "process"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { ::execve(p, a, e); }"), "process"),
    ("src/agent/a.cc", in_namespace("agent", 'void f() { std::system("ls"); }'), "system"),
    ("src/agent/a.cc", in_namespace("agent", "int n = ::open(path, 0);"), "file"),
    ("src/agent/a.cc", in_namespace("agent", "std::ifstream in(path);"), "file"),
    ("src/agent/a.cc", in_namespace("agent", "bool b = std::filesystem::exists(path);"), "file"),
    ("src/agent/a.cc", in_namespace("agent", 'char* p = strtok(text, ",");'), "unsafe"),
    ("src/agent/a.cc", in_namespace("agent", "int n = std::stoi(text);"), "throwing-parse"),
    ("src/agent/a.cc", in_namespace("agent", "auto* t = localtime(&now);"), "shared-buffer"),
    ("src/agent/a.cc", in_namespace("agent", "std::regex r;"), "regex"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { assert(x); }"), "assert"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { throw Error(); }"), "throw"),
    ("src/agent/a.cc", in_namespace("agent", "int f() { return fork(); }"), "process"),
    ("src/agent/a.cc", in_namespace("agent", "// tidy: allow(throw)\nvoid f() { throw 1; }"), "throw"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { delete p; }"), "delete"),
    ("src/agent/a.cc", in_namespace("agent", "auto p = Owned(new Thing(loop, TRY(open())));"), "new-try"),
    ("src/agent/a_test.cc", in_namespace("agent", "auto p = Owned(new Thing{CO_TRY(co_await open())});"), "new-try"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { worker.detach(); }"), "detach"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { goto end; }"), "goto"),
    ("src/agent/a.cc", in_namespace("agent", "void f() { out << std::endl; }"), "endl"),
    ("src/brain/draw.cc", in_namespace("brain", "std::normal_distribution<> n;"), "distribution"),
    ("src/brain/apply.cc", in_namespace("brain", "double share = 0;"), "float-in-state"),
    # coroutines
    ("src/agent/c.cc", in_namespace("agent", "auto f = [this]() -> Async<void> { co_await run(); };"), "coroutine-lambda"),
    ("src/agent/c.cc", in_namespace("agent", "auto f = [&](int n) { if (n) { co_return; } };"), "coroutine-lambda"),
    ("src/agent/c.cc",
     in_namespace("agent", "Async<void> f() { std::lock_guard<std::mutex> lock(m); co_await g(); }"), "coroutine-lock"),
    ("src/agent/c.cc",
     in_namespace("agent", "Async<void> g(const Order& order);\nvoid f(Order o) { gate.spawn(g(o)); }"),
     "coroutine-detached"),
    # files
    ("src/agent/string_utils.cc", in_namespace("agent", ""), "name"),
    ("src/agent/helpers/x.cc", in_namespace("agent", ""), "name"),
    ("src/agent/CamelCase.cc", in_namespace("agent", ""), "name"),
    ("src/agent/guard.h", "#ifndef GUARD\n#define GUARD\nnamespace runnel::agent {}\n#endif\n", "header"),
    ("src/agent/wide.h", "#pragma once\nnamespace runnel::agent {}\nusing namespace std;\n", "header"),
    ("src/base/result.cc", '#include <string>\n\n#include "base/result.h"\n\nnamespace runnel {}\n', "include-order"),
    ("src/agent/lost.cc", "int x;\n", "namespace"),
    ("src/agent/lost.cc", "namespace runnel::env {\nint x;\n}\n", "namespace"),
    ("src/agent/t.cc", in_namespace("agent", "// TODO: later"), "todo"),
    ("src/agent/t.cc", in_namespace("agent", "int x;  /* FIXME */"), "todo"),
    ("src/agent/l.cc", in_namespace("agent", LONG_LINE), "line"),
    # lengths
    ("src/agent/f.cc", in_namespace("agent", "void f() {\n" + "  g();\n" * 150 + "}"), "length"),
    ("src/agent/f.cc", in_namespace("agent", "int x;\n" * 1000), "length"),
]


@pytest.mark.parametrize(("path", "text", "check"), PLANTED)
def test_planted_violation_is_found(tmp_path, path, text, check):
    assert [item for item in found(tmp_path, {path: text}) if item.endswith(f": {check}")]


INNOCENT = [
    # The same words where they are allowed, in comments, or in text.
    ("src/agent/a.cc", in_namespace("agent", "auto* p = new Thing(made);\nauto q = TRY(open());")),
    ("src/agent/a.cc", in_namespace("agent", "// fork() and std::thread are the runner's business")),
    ("src/agent/a.cc", in_namespace("agent", 'auto text = "delete rand() TODO";')),
    ("src/agent/a.cc", in_namespace("agent", 'auto text = R"(fork() "quoted" goto)";')),
    ("src/agent/a.cc", in_namespace("agent", "int n = 1'000; char c = '\\''; int m = 2'000;")),
    ("src/runner.cc", in_namespace("agent", "void f() { fork(); ::open(p, 0); }", "#include <unistd.h>")),
    ("src/agent/a_test.cc", "#include <gtest/gtest.h>\n\n#include <thread>\nstd::thread worker;\n"),
    ("src/agent/a.cc", in_namespace("agent", "struct A { A(const A&) = delete; };")),
    ("src/agent/a.cc", in_namespace("agent", "void f() { task.time(0); loop.sleep(3); file.open(path); }")),
    ("src/agent/a.cc", in_namespace("agent", "static_assert(sizeof(int) == 4);")),
    ("src/agent/a.cc", in_namespace("agent", "std::filesystem::path p;")),
    ("src/agent/a.cc", in_namespace("agent", "Dice fork(int n);\nvoid f() { try { g(); } catch (...) { throw; } }")),
    ("src/agent/a.cc", in_namespace("agent", "// tidy: allow(throw) the parser is a callback of yaml-cpp\nvoid f() { throw 1; }")),
    ("src/agent/a.cc", in_namespace("agent", "void f() { throw 1; }  // tidy: allow(throw) as above")),
    ("src/brain/explain.cc", in_namespace("brain", "double share = 0;")),
    ("src/agent/t.cc", in_namespace("agent", "// TODO(#12): when volumes exist")),
    ("src/agent/c.cc", in_namespace("agent", "auto f = [](int n) -> Async<void> { co_await g(n); };")),
    ("src/agent/c.cc", in_namespace("agent", "auto f = [&] { auto g = []() -> Async<void> { co_return; }; };")),
    ("src/agent/c.cc", in_namespace("agent", "Async<void> f() { co_await g(values[i]); co_return; }")),
    ("src/agent/c.cc", in_namespace("agent", "Async<void> f() { { std::scoped_lock lock(m); n++; } co_await g(); }")),
    ("src/agent/c.cc", in_namespace("agent", "Async<void> g(Order order);\nvoid f(Order o) { gate.spawn(g(o)); }")),
    ("src/agent/c.cc", in_namespace("agent", "Async<void> g(const O& o);\nAsync<void> f(O o) { co_await g(o); }")),
]


@pytest.mark.parametrize(("path", "text"), INNOCENT)
def test_innocent_code_is_left_alone(tmp_path, path, text):
    assert found(tmp_path, {path: text}) == []


ANONYMOUS = "namespace {{\n{}\n}}  // namespace\n"


@pytest.mark.parametrize("definition", ["constexpr Time kStart = Time();", "constexpr int kMax{1};",
                                        "constexpr std::array<int, 2> kMax = {1, 2};", "constexpr int kMax[] = {1, 2};",
                                        "const std::string kName = \"n\";",
                                        "class View final : public Base {};", "enum class Kind { kA };"])
def test_two_files_that_may_be_compiled_as_one_define_nothing_twice(tmp_path, definition):
    text = in_namespace("agent", ANONYMOUS.format(definition))
    assert found(tmp_path, {"src/agent/a.cc": text, "src/agent/b.cc": text}) == ["src/agent/b.cc: unity"]
    after = in_namespace("agent", "int f();\n" + ANONYMOUS.format(definition))
    assert found(tmp_path, {"src/agent/b.cc": after}) == ["src/agent/b.cc: unity"]
    other = in_namespace("agent::detail", ANONYMOUS.format(definition))
    assert found(tmp_path, {"src/agent/b.cc": other}) == []
    (tmp_path / "src/agent/b.cc").unlink()
    assert found(tmp_path, {"src/agent/b_test.cc": text}) == []


def test_cycles_between_files_and_folders_are_found(tmp_path):
    header = '#pragma once\n\n#include "{}"\n\nnamespace runnel::{} {{}}\n'
    files = {
        "src/agent/a.h": header.format("agent/b.h", "agent"),
        "src/agent/b.h": header.format("agent/c.h", "agent"),
        "src/agent/c.h": header.format("agent/a.h", "agent"),
        "src/env/up.h": header.format("async/down.h", "env"),
        "src/async/down.h": header.format("env/down.h", "async"),
        "src/env/down.h": "#pragma once\n\nnamespace runnel::env {}\n",
    }
    cycles = [item for item in found(tmp_path, files) if item.endswith(": cycle")]
    assert cycles == ["src/agent/a.h: cycle", "src/async: cycle"]


def test_cycles_between_rooms_of_a_module_are_found(tmp_path):
    header = '#pragma once\n\n#include "{}"\n\nnamespace runnel::agent {{}}\n'
    leaf = "#pragma once\n\nnamespace runnel::agent {}\n"
    of_its_own = {"src/agent/a.h": header.format("agent/one/a.h"), "src/agent/one/a.h": leaf,
                  "src/agent/b.h": leaf, "src/agent/one/b.h": header.format("agent/b.h")}
    assert found(tmp_path / "fine", of_its_own) == []
    twice = {"src/agent/one/a.h": header.format("agent/two/a.h"), "src/agent/two/a.h": leaf,
             "src/agent/one/b.h": leaf, "src/agent/two/b.h": header.format("agent/one/b.h")}
    assert found(tmp_path / "planted", twice) == ["src/agent/one: cycle"]


def test_edge_that_does_not_lead_down_is_found(tmp_path):
    table = TABLE.replace("runnel_module(brain 4 EDGES base PURE)", "runnel_module(brain 4 EDGES base agent PURE)")
    assert "cmake/modules.cmake: edge" in found(tmp_path, {"cmake/modules.cmake": table})


def test_folder_without_a_line_in_the_architecture_is_found(tmp_path):
    assert "ARCHITECTURE.md: architecture" in found(tmp_path, {"ARCHITECTURE.md": "| `base` | x |\n| `async` | env |\n"})


def test_architecture_must_exist(tmp_path):
    repository = write(tmp_path, {"cmake/modules.cmake": TABLE})
    assert [item.check for item in violations(repository)] == ["architecture"]


def test_table_of_modules_is_read_as_cmake_reads_it():
    modules = parse_modules("# runnel_module(NAME LEVEL EDGES a [PURE])\n" + TABLE)
    assert modules["async"].edges == ("base", "env")
    assert modules["brain"].pure and not modules["env"].pure
    assert modules["agent"].level == 5


FUNCTIONS = '''
namespace runnel::agent {

template <typename T>
class Queue : public Base<T> {
 public:
  explicit Queue(int size) : size_(size), items_{1, 2} {
    CHECK(size > 0, "no room");
  }
  Queue(int a,
        int b)
      : size_{a} {}
  ~Queue() override = default;
  int size() const { return size_; }
  bool operator()(const T& a) const noexcept override {
    auto call = [this](int n) { return n + size_; };
    return call(1) > 0;
  }

 private:
  int size_ = 0;
  std::array<int, 2> items_{};
  std::function<void(int)> call_{nullptr};
  enum class Kind { kOne, kTwo };
};

constexpr Table kTable = {
    {"a", 1},
    {"b", 2},
};

const std::vector<int> kList{1, 2};

auto trailing(int x) -> Result<int> {
  if (x > 0) {
    return x;
  }
  return Options{.a = f(x)};
}

struct Plain {
  int a = 0;
};

}  // namespace runnel::agent
'''


def test_functions_and_their_lengths():
    source = Source("src/agent/a.cc", FUNCTIONS)
    signatures = [block.signature.split("(")[0].split()[-1] for block in blocks.functions(source)]
    assert signatures == ["Queue", "Queue", "size", "operator", "trailing"]
    assert [length for _, length in lengths.function_lengths(source)] == [3, 3, 1, 4, 6]


def test_initialisers_over_several_lines_are_one_function():
    text = "namespace a {\nA::A(Store& store)\n    : store_(store),\n      names_{store.names()},\n      size_(3) {\n  go();\n}\n}\n"
    assert [length for _, length in lengths.function_lengths(Source("src/a/a.cc", text))] == [6]


def big_module(length: int) -> str:
    return in_namespace("agent", "\n\n".join(f"int f{n}() {{\n" + "  g();\n" * length + "}" for n in range(20)))


def test_ratchet_holds_a_module_where_it_is_and_lets_it_shrink(tmp_path):
    repository = write(tmp_path, {**CLEAN, "src/agent/f.cc": big_module(30)})
    over = [item for item in violations(repository) if item.check == "ratchet"]
    assert any("function_median is 32" in item.message for item in over)

    accepted = lengths.shrunk_ratchet(repository, accept=("agent",))
    assert accepted["agent"]["function_median"] == 32
    write(tmp_path, {lengths.RATCHET: json.dumps(accepted)})
    assert not [item for item in violations(Repository(tmp_path)) if item.check == "ratchet"]

    write(tmp_path, {"src/agent/f.cc": big_module(31)})
    assert [item for item in violations(Repository(tmp_path)) if item.check == "ratchet"]

    write(tmp_path, {"src/agent/f.cc": big_module(25)})
    assert lengths.shrunk_ratchet(Repository(tmp_path))["agent"]["function_median"] == 27


def test_table_has_the_columns_of_the_anchors(tmp_path):
    text = lengths.table(write(tmp_path, {**CLEAN, "src/agent/f.cc": big_module(3)}))
    head, *rows = text.splitlines()
    assert "median/p90/p99" in head and "CHECKs/kLOC" in head
    assert [row.split()[0] for row in rows] == ["base", "env", "agent", "total", "target"]
