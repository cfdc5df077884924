// GETs of objects by a program that knows their keys: what a mount is compared with. Usage
//
//   range_gets STORE CONNECTIONS sequential KEY BYTES PART      all of an object, part by part
//   range_gets STORE CONNECTIONS random KEY BYTES LENGTH COUNT  blocks of it at random
//   range_gets STORE CONNECTIONS files LIST                     whole objects; LIST has their keys
//
// Prints seconds, bytes, and a sum of what was read, as long_reader does.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/together.h"
#include "block_sums.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/open_store.h"
#include "object/store_url.h"

namespace {

using namespace runnel;         // NOLINT: a bench is a leaf.
using namespace runnel::bench;  // NOLINT

constexpr std::int64_t kWholeMax = 64 << 20;

struct Get {
  std::string key;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0: the whole object.
};

struct Gets {
  std::vector<Get> all;
  std::size_t next = 0;
  BlockSums sums;
};

std::uint64_t number(const char* text) { return std::strtoull(text, nullptr, 10); }

std::vector<Get> parts_of(const std::string& key, std::uint64_t bytes, std::uint64_t part) {
  std::vector<Get> gets;
  for (std::uint64_t offset = 0; offset < bytes; offset += part) {
    gets.push_back({key, offset, std::min(part, bytes - offset)});
  }
  return gets;
}

std::vector<Get> blocks_of(const std::string& key, std::uint64_t bytes, std::uint64_t length,
                           std::uint64_t count) {
  RandomPlaces places(bytes, length);
  std::vector<Get> gets;
  gets.reserve(count);
  for (std::uint64_t block = 0; block < count; ++block) {
    gets.push_back({key, places.next(), length});
  }
  return gets;
}

std::vector<Get> objects_of(const char* list) {
  std::vector<Get> gets;
  std::ifstream file(list);
  for (std::string key; std::getline(file, key);) gets.push_back({key, 0, 0});
  return gets;
}

// One connection: the next one that nobody has begun, until there is none.
Async<void> get_some(object::ObjectStore& store, Gets& gets) {
  std::string buffer;
  while (gets.next < gets.all.size()) {
    const Get get = gets.all[gets.next++];
    if (get.length == 0) {
      object::Object object = CO_TRY(co_await store.get(get.key, kWholeMax, {}));
      gets.sums.add(0, object.bytes);
      continue;
    }
    buffer.resize(get.length);
    CO_TRY(co_await store.read(get.key, "", static_cast<std::int64_t>(get.offset), buffer, {}));
    gets.sums.add(get.offset, buffer);
  }
  co_return {};
}

Result<void> run(const char* place, std::uint64_t connections, Gets& gets) {
  const auto loop = TRY(async::EventLoop::create());
  const auto store = TRY(object::OpenedStore::open(*loop, env::real_clock(), env::real_random(),
                                                   TRY(object::parse_store_url(place))));
  std::vector<Async<void>> all;
  all.reserve(connections);
  for (std::uint64_t each = 0; each < connections; ++each) {
    all.push_back(get_some(store->store(), gets));
  }
  Result<void> done = loop->block_on(async::when_all(*loop, std::move(all)));
  TRY(loop->block_on(store->stop()));
  return done;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 4 ? argv[3] : "";
  Gets gets;
  if (how == "sequential" && argc > 6) {
    gets.all = parts_of(argv[4], number(argv[5]), number(argv[6]));
  } else if (how == "random" && argc > 7) {
    gets.all = blocks_of(argv[4], number(argv[5]), number(argv[6]), number(argv[7]));
  } else if (how == "files") {
    gets.all = objects_of(argv[4]);
  } else {
    std::fprintf(stderr, "usage: range_gets STORE CONNECTIONS sequential|random|files ...\n");
    return 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  const Result<void> done = run(argv[1], number(argv[2]), gets);
  if (!done.ok()) {
    std::fprintf(stderr, "%s\n", done.error().to_string().c_str());
    return 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.6f %" PRIu64 " %016" PRIx64 "\n", took.count(), gets.sums.bytes(),
              gets.sums.sum());
  return 0;
}
