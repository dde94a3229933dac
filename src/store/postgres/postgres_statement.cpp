#include <bit>
#include <cstring>
#include <limits>

#include "det/base/text.h"
#include "det/store/postgres/postgres.h"
#include "det/store/postgres/postgres_text.h"

namespace det::store {

namespace {

// The numbers of the types in every PostgreSQL.
constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kFloat8 = 701;

template <class Unsigned>
Unsigned big_endian(const char* bytes) {
  Unsigned number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number = static_cast<Unsigned>((number << 8) | static_cast<unsigned char>(bytes[i]));
  return number;
}

void append_big_endian(std::string& to, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) to.push_back(static_cast<char>(number >> shift));
}

}  // namespace

PostgresStatement::PostgresStatement(PostgresConnection& connection, std::string_view sql, std::string name)
    : connection_(connection), sql_(numbered_parameters(sql)), name_(std::move(name)) {}

PostgresStatement::Parameter& PostgresStatement::parameter(int number, Oid type) {
  const auto at = static_cast<std::size_t>(number - 1);
  if (parameters_.size() <= at) parameters_.resize(at + 1);
  parameters_[at] = {.type = type, .null = false, .begin = buffer_.size(), .length = 0};
  return parameters_[at];
}

void PostgresStatement::bind_integer(int number, std::int64_t value) {
  parameter(number, kInt8).length = 8;
  append_big_endian(buffer_, static_cast<std::uint64_t>(value));
}

void PostgresStatement::bind_double(int number, double value) {
  parameter(number, kFloat8).length = 8;
  append_big_endian(buffer_, std::bit_cast<std::uint64_t>(value));
}

void PostgresStatement::bind_text(int number, std::string_view text) {
  auto& p = parameter(number, kText);
  if (text.find('\0') == std::string_view::npos && is_utf8(text))
    buffer_.append(text);
  else
    buffer_.append(storable_text(text));
  p.length = buffer_.size() - p.begin;
}

void PostgresStatement::bind_bytes(int number, std::string_view bytes, bool) {
  parameter(number, kBytea).length = bytes.size();
  buffer_.append(bytes);
}

// Its type is what PostgreSQL finds that it must be.
void PostgresStatement::bind_null(int number) {
  parameter(number, 0).null = true;
}

bool PostgresStatement::next() {
  if (result_) {
    ++row_;
  } else {
    send();
    answer();
    row_ = 0;
  }
  return row_ < PQntuples(result_.get());
}

void PostgresStatement::run() {
  connection_.send(*this, false);
}

bool PostgresStatement::send() {
  connection_.send(*this, true);
  parameters_.clear();
  buffer_.clear();
  return true;
}

void PostgresStatement::answer() {
  if (answers_.empty()) connection_.wait();
  result_ = std::move(answers_.front());
  answers_.pop_front();
  row_ = -1;
}

void PostgresStatement::reset() {
  result_.reset();
  answers_.clear();
  parameters_.clear();
  buffer_.clear();
}

bool PostgresStatement::is_null(int column) const {
  return PQgetisnull(result_.get(), row_, column) == 1;
}

std::int64_t PostgresStatement::integer(int column) const {
  if (is_null(column)) return 0;
  switch (PQftype(result_.get(), column)) {
    case kInt8: return static_cast<std::int64_t>(big_endian<std::uint64_t>(value(column)));
    case kInt4: return static_cast<std::int32_t>(big_endian<std::uint32_t>(value(column)));
    case kInt2: return static_cast<std::int16_t>(big_endian<std::uint16_t>(value(column)));
    case kBool: return value(column)[0] != 0 ? 1 : 0;
    default: throw SqlError(SqlError::Kind::Other, "not an integer column in: " + sql_);
  }
}

double PostgresStatement::number(int column) const {
  if (PQftype(result_.get(), column) != kFloat8) return static_cast<double>(integer(column));
  if (is_null(column)) return 0;
  return std::bit_cast<double>(big_endian<std::uint64_t>(value(column)));
}

std::string_view PostgresStatement::bytes(int column) const {
  if (is_null(column)) return {};
  return {value(column), static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
}

}  // namespace det::store
