#include "det/http/websocket/websocket.h"

#include <array>
#include <boost/uuid/detail/sha1.hpp>
#include <random>

#include "det/base/text.h"

namespace det::http::websocket {

namespace {

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr unsigned kFinal = 0x80;
constexpr unsigned kContinued = 0;
constexpr std::size_t kControlMax = 125;
constexpr std::size_t kMaskBytes = 4;

std::string random_bytes(std::size_t count) {
  static thread_local std::random_device device;
  std::string out(count, '\0');
  for (auto& c : out) c = static_cast<char>(device() & 0xFF);
  return out;
}

void append_big_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

}  // namespace

std::string make_key() {
  return base64_encode(random_bytes(16));
}

std::string accept_of(std::string_view key) {
  boost::uuids::detail::sha1 hash;
  hash.process_bytes(key.data(), key.size());
  hash.process_bytes(kGuid.data(), kGuid.size());
  boost::uuids::detail::sha1::digest_type words;
  hash.get_digest(words);
  std::string bytes;
  for (const auto word : words) append_big_endian(bytes, word, 4);
  return base64_encode(bytes);
}

std::string frame(Kind kind, std::string_view payload, Side from) {
  const unsigned masked = from == Side::Client ? 0x80 : 0;
  std::string out;
  out.reserve(payload.size() + 14);
  out += static_cast<char>(kFinal | static_cast<unsigned>(kind));
  if (payload.size() < 126) {
    out += static_cast<char>(masked | payload.size());
  } else if (payload.size() < 65536) {
    out += static_cast<char>(masked | 126U);
    append_big_endian(out, payload.size(), 2);
  } else {
    out += static_cast<char>(masked | 127U);
    append_big_endian(out, payload.size(), 8);
  }
  if (from == Side::Server) return out += payload;
  const auto mask = random_bytes(kMaskBytes);
  out += mask;
  for (std::size_t i = 0; i < payload.size(); ++i)
    out += static_cast<char>(payload[i] ^ mask[i % kMaskBytes]);
  return out;
}

Result<std::optional<Message>> Reader::next() {
  std::optional<Message> message;
  bool more = true;
  while (more && !message) {
    DET_TRY(more, take_frame(message));
  }
  return message;
}

// Takes one frame, where it is whole; whether there was one.
Result<bool> Reader::take_frame(std::optional<Message>& out) {
  const auto byte = [this](std::size_t at) {
    return static_cast<unsigned>(static_cast<unsigned char>(unread_[at]));
  };
  if (unread_.size() < 2) return false;
  std::size_t head = 2;
  std::uint64_t size = byte(1) & 0x7F;
  const int more = size == 126 ? 2 : size == 127 ? 8 : 0;
  if (more > 0) {
    if (unread_.size() < head + static_cast<std::size_t>(more)) return false;
    size = 0;
    for (int i = 0; i < more; ++i) size = size << 8 | byte(head++);
  }
  const bool final = (byte(0) & kFinal) != 0;
  const unsigned operation = byte(0) & 0x0F;
  const bool control = operation >= static_cast<unsigned>(Kind::Close);
  const auto* sender = from_ == Side::Server ? "the server" : "the client";
  const bool has_mask = (byte(1) & 0x80) != 0;
  if ((byte(0) & 0x70) != 0 || has_mask != (from_ == Side::Client) ||
      (control && (size > kControlMax || !final)))
    return fail(ErrorCode::Unavailable, "{} sent a malformed WebSocket frame", sender);
  if (size > message_max_ || (begun_ && begun_->payload.size() + size > message_max_))
    return fail(ErrorCode::Unavailable, "{} sent a message of more than {} bytes", sender, message_max_);
  const std::size_t mask_at = head;
  if (has_mask) head += kMaskBytes;
  if (unread_.size() < head || unread_.size() - head < size) return false;
  auto payload = unread_.substr(head, size);
  if (has_mask)
    for (std::size_t i = 0; i < payload.size(); ++i)
      payload[i] = static_cast<char>(payload[i] ^ unread_[mask_at + i % kMaskBytes]);
  unread_.erase(0, head + size);
  if (control) {
    out = Message{static_cast<Kind>(operation), std::move(payload)};
    return true;
  }
  if ((operation == kContinued) != begun_.has_value() || operation > static_cast<unsigned>(Kind::Binary))
    return fail(ErrorCode::Unavailable, "{} sent a WebSocket frame out of order", sender);
  if (!begun_) begun_ = Message{static_cast<Kind>(operation), {}};
  begun_->payload += payload;
  if (final) out = *std::exchange(begun_, std::nullopt);
  return true;
}

}  // namespace det::http::websocket
