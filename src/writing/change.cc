#include "writing/change.h"

#include <type_traits>
#include <utility>

#include "base/binary.h"

namespace runnel::writing {
namespace {

// One visit of a change's fields writes and reads it, so that neither can forget one.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void operator()(const std::uint64_t& value) { out_.natural(value); }
  void operator()(const std::uint32_t& value) { out_.natural(value); }
  void operator()(const std::int64_t& value) { out_.integer(value); }
  void operator()(const bool& value) { out_.byte(value ? 1 : 0); }
  void operator()(const std::string& value) { out_.text(value); }
  void operator()(const volume::NodeKind& kind) { out_.byte(static_cast<std::uint8_t>(kind)); }
  void operator()(const Moment& when) {
    (*this)(when.seconds);
    (*this)(when.nanos);
  }
  void operator()(const Place& at) {
    (*this)(at.folder);
    (*this)(at.name);
  }
  void operator()(const std::vector<Place>& places) {
    out_.natural(places.size());
    for (const Place& each : places) (*this)(each);
  }
  void operator()(const DataPlace& place) {
    out_.byte(static_cast<std::uint8_t>(place.file.kind));
    (*this)(place.file.number);
    (*this)(place.offset);
  }
  template <typename T>
  void operator()(const std::optional<T>& value) {
    (*this)(value.has_value());
    if (value) (*this)(*value);
  }

 private:
  Encoder out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  void operator()(std::uint64_t& value) { value = in_.natural(); }
  void operator()(std::uint32_t& value) {
    const std::uint64_t read = in_.natural();
    if (read > UINT32_MAX) in_.fail();
    value = static_cast<std::uint32_t>(read);
  }
  void operator()(std::int64_t& value) { value = in_.integer(); }
  void operator()(bool& value) {
    const std::uint8_t read = in_.byte();
    if (read > 1) in_.fail();
    value = read == 1;
  }
  void operator()(std::string& value) { value = in_.text(); }
  void operator()(volume::NodeKind& kind) { kind = one_of<volume::NodeKind, 3>(); }
  void operator()(Moment& when) {
    (*this)(when.seconds);
    (*this)(when.nanos);
  }
  void operator()(Place& at) {
    (*this)(at.folder);
    (*this)(at.name);
  }
  void operator()(std::vector<Place>& places) {
    places.resize(in_.count(kRecordBytesMax));
    for (Place& each : places) (*this)(each);
  }
  void operator()(DataPlace& place) {
    place.file.kind = one_of<DataFile::Kind, 2>();
    (*this)(place.file.number);
    (*this)(place.offset);
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    bool is_there = false;
    (*this)(is_there);
    value.reset();
    if (is_there) (*this)(value.emplace());
  }
  Decoder& in() { return in_; }

 private:
  // A value of an enumeration that begins with 1.
  template <typename E, std::uint8_t Last>
  E one_of() {
    const std::uint8_t read = in_.byte();
    if (read < 1 || read > Last) in_.fail();
    return static_cast<E>(read);
  }

  Decoder in_;
};

template <typename Of, typename T>
constexpr bool kIs = std::is_same_v<std::remove_const_t<Of>, T>;

template <typename C>
void visit_fields(auto& visit, C& change) {
  const auto all = [&visit](auto&... fields) { (visit(fields), ...); };
  if constexpr (kIs<C, Based>) {
    all(change.version);
  } else if constexpr (kIs<C, Adopt>) {
    all(change.inode, change.kind, change.is_new, change.mode, change.owner, change.group,
        change.places, change.size, change.target, change.modified, change.accessed, change.changed,
        change.bytes_of);
  } else if constexpr (kIs<C, AdoptName>) {
    all(change.at, change.inode);
  } else if constexpr (kIs<C, Create>) {
    all(change.at, change.inode, change.kind, change.mode, change.owner, change.group,
        change.target, change.when);
  } else if constexpr (kIs<C, Write>) {
    all(change.file, change.offset, change.when, change.bytes);
  } else if constexpr (kIs<C, WriteStaged>) {
    all(change.file, change.offset, change.length, change.place, change.when);
  } else if constexpr (kIs<C, Truncate>) {
    all(change.file, change.size, change.when);
  } else if constexpr (kIs<C, Rename>) {
    all(change.from, change.to, change.moved, change.replaced, change.exchanges, change.when);
  } else if constexpr (kIs<C, Link>) {
    all(change.inode, change.at, change.when);
  } else if constexpr (kIs<C, Unlink>) {
    all(change.at, change.inode, change.when);
  } else if constexpr (kIs<C, SetAttributes>) {
    all(change.inode, change.mode, change.owner, change.group, change.modified, change.accessed,
        change.when);
  } else if constexpr (kIs<C, Commit>) {
    all(change.file);
  } else if constexpr (kIs<C, Closed> || kIs<C, Answered>) {
    all(change.inode);
  } else if constexpr (kIs<C, Barrier>) {
    all(change.number);
  } else if constexpr (kIs<C, Publishing> || kIs<C, Published>) {
    all(change.barrier, change.version);
  } else {
    static_assert(kIs<C, CheckpointEnd>);
  }
}

// The empty change of a number of the log.
template <std::size_t At = 0>
std::optional<Change> change_of(std::uint64_t kind) {
  if constexpr (At == std::variant_size_v<Change>) {
    return std::nullopt;
  } else {
    if (kind == At) return Change(std::in_place_index<At>);
    return change_of<At + 1>(kind);
  }
}

}  // namespace

std::string encode_record(const Record& record) {
  std::string out;
  Encoder head(out);
  head.natural(record.change.index());
  head.natural(record.request.connection).natural(record.request.unique);
  Writer writer(out);
  std::visit([&writer](const auto& change) { visit_fields(writer, change); }, record.change);
  return out;
}

Result<Record> decode_record(std::string_view bytes) {
  Reader reader(bytes);
  const std::uint64_t kind = reader.in().natural();
  std::optional<Change> change = change_of(kind);
  if (!reader.in().failed() && !change) {
    return Error(Errc::kUnsupported, "a log has a change of kind " + std::to_string(kind) +
                                         ", which this build does not know")
        .with_hint("use the build that wrote it, or a later one");
  }
  Record record;
  reader(record.request.connection);
  reader(record.request.unique);
  if (change) record.change = *std::move(change);
  std::visit([&reader](auto& each) { visit_fields(reader, each); }, record.change);
  if (!reader.in().complete()) return Error(Errc::kCorrupt, "a record of a log is damaged");
  return record;
}

}  // namespace runnel::writing
