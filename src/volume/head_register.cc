#include "volume/head_register.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "hash/sha256.h"
#include "volume/digits.h"
#include "volume/object_id.h"

namespace runnel::volume {
namespace {

bool is_open(const Error& error) {
  // A store that repeats a request by itself refuses the second one of a swap that was done.
  return error.code == Errc::kPrecondition || error.code == Errc::kUnavailable ||
         error.code == Errc::kTimeout;
}

// No head, or another volume's.
bool is_doubtful_read(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kConflict;
}

// Whether the manifest in it, if any, is the one that it names.
bool has_its_manifest(const Head& head) {
  return head.manifest.empty() || hash::hex(hash::sha256(head.manifest)) == head.manifest_sha256;
}

Error was_made_anew(const std::string& volume) {
  return Error(Errc::kConflict, "volume " + volume + " was deleted and made anew meanwhile")
      .with_field("volume")
      .with_value(volume)
      .with_hint("begin again");
}

// Two heads of one generation: an older copy was put back, and changed since.
Error was_put_back(const std::string& volume) {
  return Error(Errc::kConflict, "another head was put in the place of that of volume " + volume)
      .with_field("volume")
      .with_value(volume)
      .with_hint("begin again");
}

}  // namespace

HeadRegister::HeadRegister(object::ObjectStore& store, env::Random& random, std::string volume,
                           async::StopToken stop)
    : store_(store),
      random_(random),
      volume_(std::move(volume)),
      key_(volume_ + "/" + std::string(Head::kName)),
      stop_(std::move(stop)) {}

std::string HeadRegister::draw_uuid(env::Random& random) {
  return digits_of(random.next()) + digits_of(random.next());
}

Error HeadRegister::was_deleted(const std::string& volume, bool is_gone) {
  return Error(Errc::kNotFound,
               "volume " + volume + (is_gone ? " was deleted" : " is being deleted"))
      .with_field("volume")
      .with_value(volume)
      .with_hint(is_gone ? "make it anew: runnel volume create " + volume
                         : "finish it: runnel volume delete " + volume + " --yes");
}

Error HeadRegister::is_taken(const std::string& volume) {
  return Error(Errc::kConflict, "there is a volume " + volume + " already")
      .with_field("volume")
      .with_value(volume)
      .with_hint("see its versions: runnel volume versions " + volume);
}

Error HeadRegister::changes_too_fast(const std::string& volume) {
  return Error(Errc::kUnavailable, "others change volume " + volume + " faster than this one can")
      .with_value(volume)
      .with_hint("try again");
}

Async<void> HeadRegister::create() {
  constexpr int kCreationsMax = 5;
  object::Condition condition = object::Condition::absent();
  for (int tries = 1;; ++tries) {
    Head first;
    // The one that was deleted may have been the last try's: whoever wrote to it must not take this
    // for it.
    first.uuid = draw_uuid(random_);
    const Result<void> created = co_await create_as(std::move(first), condition);
    const bool has_head = !created.ok() && created.error().code == Errc::kConflict;
    if (!has_head || tries == kCreationsMax) co_return created;
    condition = CO_TRY(co_await place_of_deleted());
  }
}

Async<object::Condition> HeadRegister::place_of_deleted() {
  HeadRegister there(store_, random_, volume_, stop_);
  there.see_deleted();
  CO_TRY(co_await there.load());
  if (!there.head().is_deleted()) co_return is_taken(volume_);
  if (!there.head().is_gone) co_return was_deleted(volume_, false);
  co_return object::Condition::matches(there.etag());
}

Async<void> HeadRegister::create_as(Head first, object::Condition condition) {
  head_ = std::move(first);
  head_.nonce = digits_of(random_.next());
  Result<std::string> put =
      co_await store_.put(key_, object::make_body(encode_head(head_)), std::move(condition), stop_);
  if (!put.ok() && put.error().code == Errc::kPrecondition) {
    // A store that repeats a request by itself refuses the second one of a put that was done.
    HeadRegister there(store_, random_, volume_, stop_);
    there.see_deleted();
    const bool is_done = (co_await there.load()).ok() && there.head().nonce == head_.nonce;
    if (!is_done) co_return is_taken(volume_);
    put = there.etag();
  }
  etag_ = CO_TRY(std::move(put));
  co_return {};
}

// Whether there are packs or pages. A store that does not tell has none.
Async<bool> HeadRegister::has_content() {
  for (const char* kind : {"i/", "p/"}) {
    const Result<bool> has_some = co_await has_objects(store_, volume_ + "/", kind, stop_);
    if (!has_some.ok() || *has_some) co_return has_some.ok();
  }
  co_return false;
}

Error HeadRegister::is_lost() const {
  return Error(Errc::kCorrupt, "the head of volume " + volume_ + " in " + store_.name() +
                                   " is missing, and its versions are there")
      .with_field("volume")
      .with_value(volume_)
      .with_hint("put back a copy of the object '" + key_ + "'; to give them up, remove all that " +
                 "lies below '" + volume_ + "/' there");
}

Async<void> HeadRegister::check_not_lost() {
  HeadRegister there(store_, random_, volume_, stop_);
  there.see_deleted();
  const Result<void> loaded = co_await there.load();  // Which looks twice.
  if (!loaded.ok() && loaded.error().code == Errc::kCorrupt) co_return loaded;
  co_return {};
}

SeenHead HeadRegister::seen() const {
  CHECK(!head_.uuid.empty(), "no head was read");
  return {encode_head(head_), etag_};
}

Result<void> HeadRegister::take(const SeenHead& seen) {
  CHECK(head_.uuid.empty(), "a head was read already");
  head_ = TRY(decode_head(seen.text));
  etag_ = seen.etag;
  return check_there();
}

Result<void> HeadRegister::check_there() const {
  if (head_.is_deleted() && !sees_deleted_) return was_deleted(volume_, head_.is_gone);
  return {};
}

Async<void> HeadRegister::load() {
  CO_TRY(co_await load_whole());
  co_return check_there();
}

Async<void> HeadRegister::load_to_hold() {
  CO_TRY(co_await load_whole());
  if (head_.is_gone && !sees_deleted_) co_return was_deleted(volume_, true);
  co_return {};
}

Async<void> HeadRegister::load_whole() {
  Result<void> loaded = co_await load_once();
  const bool is_doubtful =
      loaded.ok() ? !has_its_manifest(head_) : is_doubtful_read(loaded.error());
  // Its bytes may have been changed on their way; the store is asked once more.
  if (is_doubtful) loaded = co_await load_once();
  co_return loaded;
}

Async<void> HeadRegister::load_once() {
  Result<object::Object> read = co_await store_.get(key_, Head::kReadMax, stop_);
  if (!read.ok() && read.error().code == Errc::kNotFound) {
    if (CO_TRY(co_await has_content())) co_return is_lost();
    co_return Error(Errc::kNotFound, "there is no volume " + volume_ + " in " + store_.name())
        .with_field("volume")
        .with_value(volume_)
        .with_hint((read.error().hint.empty() ? "" : read.error().hint + " else ") +
                   "make it: runnel volume create " + volume_ +
                   ", with --store URL where it is, or is to be, elsewhere; see all: runnel " +
                   "volume list");
  }
  object::Object object = CO_TRY(std::move(read));
  Head head = CO_TRY(decode_head(object.bytes));
  if (!head_.uuid.empty() && head.uuid != head_.uuid) co_return was_made_anew(volume_);
  const bool is_another = head.generation == head_.generation && head.nonce != head_.nonce;
  if (!head_.uuid.empty() && is_another) co_return was_put_back(volume_);
  // A beat reads it beside other work, and answers may come in another order than they were asked.
  if (head.generation < head_.generation) co_return {};
  head_ = std::move(head);
  etag_ = std::move(object.etag);
  co_return {};
}

Async<HeadRegister::Swap> HeadRegister::swap(Head next) {
  CO_TRY(check_writable(head_));
  // Who has a session may have read it to hold what it has.
  if (head_.is_deleted() && !sees_deleted_) co_return was_deleted(volume_, head_.is_gone);
  next.generation = head_.generation + 1;
  next.nonce = digits_of(random_.next());
  const std::string text = encode_head(next);
  if (text.size() > Head::kBytesMax) {
    co_return Error(Errc::kFull, "the head of volume " + volume_ + " is full")
        .with_hint("remove tags: runnel volume tag --delete");
  }
  const std::string before = etag_;
  Result<std::string> put =
      co_await store_.put(key_, object::make_body(text), object::Condition::matches(before), stop_);
  if (put.ok()) {
    head_ = CO_TRY(decode_head(text));
    etag_ = *std::move(put);
    co_return Swap::kDone;
  }
  if (!is_open(put.error())) co_return put.error();
  CO_TRY(co_await load());
  if (head_.nonce == next.nonce) co_return Swap::kDone;
  // The store has been asked for as long as anybody waits.
  const bool is_as_before = etag_ == before && put.error().code != Errc::kPrecondition;
  if (is_as_before) co_return put.error();
  co_return Swap::kMoved;
}

Async<bool> has_objects(object::ObjectStore& store, std::string prefix, std::string kind,
                        async::StopToken stop) {
  for (std::string after;;) {
    object::ListPage page = CO_TRY(co_await store.list(prefix + kind, after, stop));
    for (const object::Listed& object : page.objects) {
      if (is_object_key(std::string_view(object.key).substr(prefix.size()), kind)) co_return true;
    }
    if (!page.more) co_return false;
    after = *std::move(page.more);
  }
}

}  // namespace runnel::volume
