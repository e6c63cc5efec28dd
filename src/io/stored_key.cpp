#include "io/stored_key.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "io/conversion.hpp"
#include "io/packed.hpp"

namespace tessera::inline v1::io {
namespace {

index_t size_of(hid_t type) { return static_cast<index_t>(H5Tget_size(type)); }

}  // namespace

StoredKey::StoredKey(const std::string& file, const Column& column, std::optional<Element> number,
                     layout::Range bytes) {
  const DatasetName name{file, column.path};
  stored_ = stored_type(name);
  from_element_ = size_of(stored_);
  for (std::size_t d = 1; d < column.info.shape.size(); ++d) elements_ *= column.info.shape[d];
  row_bytes_ = elements_ * from_element_;
  if (!column.member.empty()) {
    const auto member = static_cast<unsigned>(H5Tget_member_index(stored_, column.member.c_str()));
    begin_ = static_cast<index_t>(H5Tget_member_offset(stored_, member));
    stored_ = Handle(h5_check(H5Tget_member_type(stored_, member), name.text()), H5Tclose);
  }
  wanted_ = number ? owned_type(*number) : Handle(H5Tcopy(stored_), H5Tclose);
  if (!number && H5Tget_class(wanted_) == H5T_STRING) H5Tset_strpad(wanted_, H5T_STR_NULLPAD);
  bytes_ = number ? layout::Range{0, size_of(wanted_)} : bytes;
}

StoredKey::StoredKey(const std::string& file, const Column& column,
                     std::shared_ptr<const Packing> missing)
    : StoredKey(file, column, Element::u64, {}) {
  missing_ = std::move(missing);
  wanted_ = Handle(H5Tcopy(stored_bits_type(*missing_)), H5Tclose);
  bytes_ = {0, index_t{sizeof(std::uint32_t)}};
}

std::optional<index_t> StoredKey::offset() const {
  if (missing_ || !is_self_contained(stored_)) return std::nullopt;
  const bool together = elements_ == 1 || from_element_ == size_of(stored_);
  if (!together || H5Tequal(stored_, wanted_) <= 0) return std::nullopt;
  return begin_ + bytes_.begin;
}

void StoredKey::convert(const std::byte* rows, index_t n, std::byte* to) const {
  constexpr index_t piece_bytes = index_t{128} << 10;  // fits in a cache
  const index_t from = size_of(stored_), wanted = size_of(wanted_), widest = std::max(from, wanted);
  const index_t at_once =
      std::max<index_t>(1, piece_bytes / std::max<index_t>(1, elements_ * widest));
  std::vector<std::byte> elements(static_cast<std::size_t>(at_once * elements_ * widest)),
      background(elements.size());
  const Transfer transfer;
  for (index_t j = 0; j < n; j += at_once) {
    const index_t some = std::min(at_once, n - j);
    for (index_t e = 0; e < some * elements_; ++e)
      std::memcpy(elements.data() + e * from, rows + (j * elements_ + e) * from_element_ + begin_,
                  static_cast<std::size_t>(from));
    transfer.check(H5Tconvert(stored_, wanted_, static_cast<std::size_t>(some * elements_),
                              elements.data(), background.data(), H5P_DEFAULT),
                   wanted_, "the key column");
    if (missing_) {
      std::vector<std::uint64_t> bits(static_cast<std::size_t>(some));
      std::vector<std::uint32_t> marks(bits.size());
      std::memcpy(bits.data(), elements.data(), bits.size() * sizeof(std::uint64_t));
      mark_missing(bits, *missing_, marks);
      std::memcpy(to, marks.data(), marks.size() * sizeof(std::uint32_t));
      to += some * bytes_.size();
      continue;
    }
    for (index_t i = 0; i < some; ++i, to += bytes_.size())
      std::memcpy(to, elements.data() + i * elements_ * wanted + bytes_.begin,
                  static_cast<std::size_t>(bytes_.size()));
  }
}

}  // namespace tessera::inline v1::io
