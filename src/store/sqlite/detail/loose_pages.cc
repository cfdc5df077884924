#include "store/sqlite/detail/loose_pages.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/check.h"
#include "env/files.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::size_t kPage = 4096;  // SQLite's default, and no log of ours has another.
constexpr std::size_t kPageCountAt = 28;
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kSaltAt = 16;
constexpr std::size_t kSaltSize = 8;
constexpr std::size_t kFrameHeader = 24;
constexpr std::size_t kSaltInFrame = 8;
constexpr unsigned char kLeafOfTable = 13;
constexpr std::size_t kLeafHeader = 8;
constexpr std::size_t kLocalMax = kPage - 35;                        // Payload bytes on a leaf.
constexpr std::size_t kLocalMin = (kPage - 12) * 32 / 255 - 23;      // If it goes on elsewhere.
constexpr std::size_t kOverflowMax = kPage - 4;                      // Its bytes on a page there.
constexpr std::size_t kPayloadMax = std::size_t{256} * 1024 * 1024;  // Four of the largest batches.
constexpr std::size_t kVarintMax = 9;

std::uint64_t big_endian_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + size && i < bytes.size(); ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

// Reads SQLite's numbers of one to nine bytes; what ends too early reads as 0.
std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kVarintMax && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    const bool is_last = i + 1 == kVarintMax;
    value = is_last ? value << 8 | byte : value << 7 | (byte & 0x7FU);
    if (!is_last && (byte & 0x80U) != 0) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  bytes = {};
  return 0;
}

// How much of a payload stands on its leaf.
std::size_t local_size(std::size_t size) {
  if (size <= kLocalMax) return size;
  const std::size_t local = kLocalMin + (size - kLocalMin) % kOverflowMax;
  return local <= kLocalMax ? local : kLocalMin;
}

// The head of a cell: its size, its row and where its payload begins.
struct CellHead {
  std::size_t size;
  std::int64_t row;
  std::string_view rest;
};

CellHead head_of(std::string_view bytes) {
  const std::size_t size = take_varint(bytes);
  const auto row = static_cast<std::int64_t>(take_varint(bytes));
  return {size, row, bytes};
}

// One column of a record; "none" where the number of the row stands for it.
struct Column {
  enum class Kind : char { kNone = 'n', kNumber = 'i', kText = 't', kOther = '?' };
  Kind kind = Kind::kOther;
  std::size_t size = 0;
  std::int64_t constant = 0;
};

Column column_of(std::uint64_t type) {
  constexpr std::array<std::size_t, 7> kSizes{0, 1, 2, 3, 4, 6, 8};
  constexpr std::uint64_t kZero = 8;
  constexpr std::uint64_t kOne = 9;
  constexpr std::uint64_t kFirstText = 13;
  if (type == 0) return {.kind = Column::Kind::kNone};
  if (type < kSizes.size()) return {.kind = Column::Kind::kNumber, .size = kSizes[type]};
  if (type == kZero) return {.kind = Column::Kind::kNumber, .constant = 0};
  if (type == kOne) return {.kind = Column::Kind::kNumber, .constant = 1};
  if (type < kFirstText || type % 2 == 0) return {};
  return {.kind = Column::Kind::kText, .size = (type - kFirstText) / 2};
}

std::int64_t signed_at(std::string_view bytes, std::size_t size) {
  std::uint64_t value = big_endian_at(bytes, 0, size);
  const bool is_negative = !bytes.empty() && (static_cast<unsigned char>(bytes[0]) & 0x80U) != 0;
  if (is_negative && size < sizeof(value)) value |= ~std::uint64_t{0} << (8 * size);
  return static_cast<std::int64_t>(value);
}

std::vector<Column> columns_of(std::string_view payload) {
  std::string_view header = payload;
  const std::uint64_t header_size = take_varint(header);
  const std::size_t taken = payload.size() - header.size();
  if (header_size < taken || header_size > payload.size()) return {};
  header = header.substr(0, header_size - taken);
  std::vector<Column> columns;
  while (!header.empty()) columns.push_back(column_of(take_varint(header)));
  return columns;
}

// The kinds of a record's columns, one letter each: tells the tables apart.
std::string shape_of(std::string_view payload) {
  std::string shape;
  for (const Column& column : columns_of(payload)) shape += static_cast<char>(column.kind);
  return shape;
}

constexpr std::string_view kBatchShape = "niiiittt";
constexpr std::string_view kMetaShape = "niiiiti";
constexpr std::string_view kSnapshotShape = "nitti";
constexpr std::string_view kEntryShape = "tttii";

bool is_other_shape(std::string_view shape) {
  return shape == kMetaShape || shape == kSnapshotShape || shape == kEntryShape;
}

// The columns of a record, in order.
class Row {
 public:
  explicit Row(std::string_view payload) : columns_(columns_of(payload)), body_(payload) {
    body_.remove_prefix(std::min<std::size_t>(take_varint(payload), body_.size()));
  }

  std::int64_t number() {
    const Column column = columns_[next_];
    return column.size == 0 ? skip(column.constant) : signed_at(take(), column.size);
  }
  std::string text() { return std::string(take()); }

 private:
  std::int64_t skip(std::int64_t constant) {
    ++next_;
    return constant;
  }
  std::string_view take() {
    const std::string_view value = body_.substr(0, columns_[next_++].size);
    body_.remove_prefix(value.size());
    return value;
  }

  std::vector<Column> columns_;
  std::string_view body_;
  std::size_t next_ = 0;
};

Batch batch_from(std::int64_t seq, Row row) {
  Batch batch;
  batch.seq = BatchSeq(seq + row.number());
  batch.first_event = EventSeq(row.number());
  batch.event_count = row.number();
  batch.epoch = Epoch(row.number());
  batch.now = Time::from_millis(row.number());
  batch.input = row.text();
  batch.events = row.text();
  batch.hash = row.text();
  return batch;
}

StoredSnapshot snapshot_from(std::int64_t seq, Row row) {
  StoredSnapshot stored;
  stored.snapshot.through = BatchSeq(seq + row.number());
  stored.next_event = EventSeq(row.number());
  stored.batch_hash = row.text();
  stored.snapshot.text = row.text();
  stored.good = row.number() == checksum_of(stored);
  return stored;
}

StoredEntry entry_from(Row row) {
  StoredEntry stored;
  stored.entry.key = row.text();
  stored.entry.sort_key = row.text();
  stored.entry.text = row.text();
  stored.batch = BatchSeq(row.number());
  stored.good = row.number() == checksum_of(stored.entry, stored.batch);
  return stored;
}

std::optional<Meta> meta_from(Row row) {
  Meta meta;
  (void)row.number();  // Its id.
  meta.format = row.number();
  meta.epoch = Epoch(row.number());
  meta.base.last = BatchSeq(row.number());
  meta.base.next_event = EventSeq(row.number());
  meta.base.hash = row.text();
  if (row.number() != checksum_of(meta)) return std::nullopt;
  return meta;
}

// By how much a database differs from the pages that its header counts, or from whole ones.
std::int64_t shift_of(std::string_view database) {
  const auto pages = static_cast<std::int64_t>(big_endian_at(database, kPageCountAt, 4));
  const auto size = static_cast<std::int64_t>(database.size());
  const std::int64_t shift = size - pages * static_cast<std::int64_t>(kPage);
  const bool is_sane = pages > 0 && shift > -size && shift < size;
  return is_sane ? shift : size % static_cast<std::int64_t>(kPage);
}

template <typename Value, typename Map>
std::vector<Value> values_of(Map found) {
  std::vector<Value> values;
  values.reserve(found.size());
  for (auto& [key, value] : found) values.push_back(std::move(value));
  return values;
}

Result<std::string> read_if_there(const std::string& path) {
  if (!env::exists(path)) return std::string();
  return env::read_file(path, kLoosePagesMax);
}

}  // namespace

Result<LoosePages> LoosePages::read(const std::string& path) {
  std::string database = TRY(read_if_there(path));
  return LoosePages(std::move(database), TRY(read_if_there(path + "-wal")));
}

LoosePages::LoosePages(std::string database, const std::string& wal)
    : bytes_(std::move(database)), log_at_(bytes_.size()), shift_(shift_of(bytes_)) {
  constexpr auto kStep = static_cast<std::int64_t>(kPage);
  find_pages(0);
  if (shift_ % kStep != 0) find_pages(static_cast<std::size_t>((shift_ % kStep + kStep) % kStep));
  bytes_ += wal;
  find_frames();
}

void LoosePages::find_pages(std::size_t first) {
  for (std::size_t page = first; page + kPage <= log_at_; page += kPage) find_cells(page);
}

// Each frame carries the salt of the log, so it is found wherever it stands.
void LoosePages::find_frames() {
  const std::string salt = bytes_.substr(std::min(log_at_ + kSaltAt, bytes_.size()), kSaltSize);
  if (salt.size() < kSaltSize) return;
  std::size_t at = bytes_.find(salt, log_at_ + kLogHeader);
  for (; at != std::string::npos; at = bytes_.find(salt, at + kSaltSize)) {
    const std::size_t frame = at - kSaltInFrame;
    if (frame + kFrameHeader + kPage > bytes_.size()) return;
    frames_[static_cast<std::uint32_t>(big_endian_at(bytes_, frame, 4))] = frame + kFrameHeader;
    find_cells(frame + kFrameHeader);
  }
}

void LoosePages::find_cells(std::size_t page) {
  const std::string_view bytes = std::string_view(bytes_).substr(page, kPage);
  if (static_cast<unsigned char>(bytes[0]) != kLeafOfTable) return;
  const std::size_t count = std::min<std::size_t>(big_endian_at(bytes, 3, 2), kPage / 4);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = big_endian_at(bytes, kLeafHeader + 2 * i, 2);
    if (at >= kPage) continue;
    const CellHead head = head_of(bytes.substr(at));
    if (head.size > kPayloadMax) continue;
    const std::string shape = shape_of(head.rest.substr(0, local_size(head.size)));
    if (shape == kBatchShape) batches_.emplace(head.row, Cell{page, at});
    if (is_other_shape(shape)) others_.push_back({page, at});
  }
}

std::string_view LoosePages::content(std::uint32_t number, View view) const {
  CHECK(log_at_ <= bytes_.size(), "the log stands behind the database");
  const auto logged = frames_.find(number);
  const bool in_log = view == View::kLogged && logged != frames_.end();
  const std::int64_t shift = view == View::kShifted ? shift_ : 0;
  const auto place = static_cast<std::int64_t>(kPage) * (std::int64_t{number} - 1) + shift;
  const std::size_t at = in_log ? logged->second : static_cast<std::size_t>(place);
  const std::size_t end = in_log ? bytes_.size() : log_at_;
  if (number == 0 || (!in_log && place < 0) || at + kPage > end) return {};
  return std::string_view(bytes_).substr(at, kPage);
}

std::optional<std::string> LoosePages::payload(const Cell& cell, View view) const {
  const CellHead head = head_of(std::string_view(bytes_).substr(cell.page, kPage).substr(cell.at));
  if (head.size > bytes_.size()) return std::nullopt;
  const std::size_t local = local_size(head.size);
  std::string text(head.rest.substr(0, local));
  if (text.size() < local) return std::nullopt;
  auto next = static_cast<std::uint32_t>(big_endian_at(head.rest, local, 4));
  while (text.size() < head.size) {
    const std::string_view more = content(next, view);
    if (more.empty()) return std::nullopt;
    next = static_cast<std::uint32_t>(big_endian_at(more, 0, 4));
    text += more.substr(4, head.size - text.size());
  }
  CHECK(text.size() == head.size, "a payload has the size that its cell says");
  return text;
}

template <typename Visit>
void LoosePages::each_payload(const Cell& cell, Visit visit) const {
  std::optional<std::string> last;
  for (const View view : {View::kInPlace, View::kShifted, View::kLogged}) {
    std::optional<std::string> found = payload(cell, view);
    if (!found || found == last) continue;
    visit(*found);
    last = std::move(found);
  }
}

std::vector<Batch> LoosePages::batches(BatchSeq seq) const {
  std::vector<Batch> found;
  const auto [first, last] = batches_.equal_range(seq.value());
  for (auto each = first; each != last; ++each) {
    each_payload(each->second, [&](const std::string& text) {
      Batch batch = batch_from(seq.value(), Row(text));
      if (std::find(found.begin(), found.end(), batch) == found.end()) {
        found.push_back(std::move(batch));
      }
    });
  }
  return found;
}

BatchSeq LoosePages::last() const {
  return batches_.empty() ? BatchSeq() : BatchSeq(batches_.rbegin()->first);
}

std::vector<StoredSnapshot> LoosePages::snapshots() const {
  std::map<BatchSeq, StoredSnapshot, std::greater<>> found;
  for (const Cell& cell : others_) {
    each_payload(cell, [&](const std::string& text) {
      if (shape_of(text) != kSnapshotShape) return;
      const CellHead head = head_of(std::string_view(bytes_).substr(cell.page + cell.at));
      StoredSnapshot stored = snapshot_from(head.row, Row(text));
      if (stored.good) found.insert_or_assign(stored.snapshot.through, std::move(stored));
    });
  }
  return values_of<StoredSnapshot>(std::move(found));
}

std::vector<StoredEntry> LoosePages::entries() const {
  std::map<std::string, StoredEntry> found;
  for (const Cell& cell : others_) {
    each_payload(cell, [&](const std::string& text) {
      if (shape_of(text) != kEntryShape) return;
      StoredEntry stored = entry_from(Row(text));
      const auto known = found.find(stored.entry.key);
      const bool is_newest = known == found.end() || known->second.batch <= stored.batch;
      if (stored.good && is_newest) found.insert_or_assign(stored.entry.key, stored);
    });
  }
  return values_of<StoredEntry>(std::move(found));
}

std::optional<Meta> LoosePages::meta() const {
  std::optional<Meta> newest;
  for (const Cell& cell : others_) {
    each_payload(cell, [&](const std::string& text) {
      if (shape_of(text) != kMetaShape) return;
      const std::optional<Meta> meta = meta_from(Row(text));
      if (meta && (!newest || meta->epoch >= newest->epoch)) newest = meta;
    });
  }
  return newest;
}

}  // namespace runnel::store::sqlite
