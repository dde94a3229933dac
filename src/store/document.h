#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "det/base/json.h"

/// The encoding of JSON documents in the store.
///
/// Text would be readable, but cannot hold NaN, is larger and slower to read. This is
/// compact (names are written once per document, doubles that are floats take
/// four bytes), keeps every double to the bit, and decodes what it encoded to an
/// equal document.
///
/// Format 1: the byte 1, then a value: a tag byte and its content. Counts and
/// integers are base-128 varints, the latter zigzag. A name is 0, its length and
/// its bytes at first, and its number (from 1, in order of appearance) after that.
namespace det::store {

/// Stored bytes that are not a document: the file is damaged.
class DamagedDocument : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string encode_document(const json::value& value);
/// Throws DamagedDocument.
json::value decode_document(std::string_view bytes);

/// Of an array whose first item is an object, the members of that, in order; nothing else is decoded, which
/// for numbers allocates no memory. Throws DamagedDocument.
void decode_first_members(std::string_view bytes,
                          const std::function<void(std::string_view name, json::value value)>& member);

/// Whether both encode to the same bytes: NaN equals NaN, 1 does not equal 1.0.
bool same_document(const json::value& a, const json::value& b);

}  // namespace det::store
