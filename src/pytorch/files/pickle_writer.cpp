#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>

#include <cstring>

#include "det/pytorch/files/pickle_types.h"
#include "det/pytorch/value.h"

namespace det::pytorch {

namespace pickle {

namespace {

struct StorageName {
  c10::ScalarType type;
  const char* name;
};
constexpr StorageName kStorages[] = {
    {c10::kFloat, "FloatStorage"},
    {c10::kDouble, "DoubleStorage"},
    {c10::kHalf, "HalfStorage"},
    {c10::kBFloat16, "BFloat16Storage"},
    {c10::kLong, "LongStorage"},
    {c10::kInt, "IntStorage"},
    {c10::kShort, "ShortStorage"},
    {c10::kChar, "CharStorage"},
    {c10::kByte, "ByteStorage"},
    {c10::kBool, "BoolStorage"},
    {c10::kComplexFloat, "ComplexFloatStorage"},
    {c10::kComplexDouble, "ComplexDoubleStorage"},
};

}  // namespace

const char* storage_name(c10::ScalarType type) {
  for (const auto& known : kStorages)
    if (known.type == type) return known.name;
  return nullptr;
}

std::optional<c10::ScalarType> type_of_storage(std::string_view name) {
  for (const auto& known : kStorages)
    if (known.name == name) return known.type;
  return std::nullopt;
}

}  // namespace pickle

namespace {

using pickle::Op;

/// Writes the bytes of one pickle and collects its tensors.
class Writer {
 public:
  std::string take(const Value& value) {
    op(Op::Proto);
    out_.push_back(2);
    write(value);
    op(Op::Stop);
    return std::move(out_);
  }
  const std::vector<at::Tensor>& storages() const { return storages_; }

 private:
  void op(Op code) { out_.push_back(static_cast<char>(code)); }
  template <typename T>
  void little_endian(T number) {
    out_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }

  void write(const Value& value) {
    if (value.is_none()) return op(Op::None);
    if (const auto* flag = value.as<bool>()) return op(*flag ? Op::NewTrue : Op::NewFalse);
    if (const auto* integer = value.as<std::int64_t>()) return write_integer(*integer);
    if (const auto* number = value.as<double>()) return write_number(*number);
    if (const auto* text = value.as<std::string>()) return write_text(*text);
    if (const auto* tensor = value.as<at::Tensor>()) return write_tensor(*tensor);
    if (const auto* list = value.as<List>()) return write_list(*list);
    if (const auto* dict = value.as<Dict>()) return write_dict(*dict);
    throw UsageError(
        c10::str("an object of Python's type ", value.as<Value::Foreign>()->type, " cannot be saved in C++"));
  }

  void write_integer(std::int64_t integer) {
    if (integer >= 0 && integer <= 0xff) {
      op(Op::BinInt1);
      out_.push_back(static_cast<char>(integer));
    } else if (integer >= INT32_MIN && integer <= INT32_MAX) {
      op(Op::BinInt);
      little_endian(static_cast<std::int32_t>(integer));
    } else {
      op(Op::Long1);
      out_.push_back(8);
      little_endian(integer);
    }
  }

  void write_number(double number) {
    op(Op::BinFloat);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    little_endian(__builtin_bswap64(bits));
  }

  void write_text(const std::string& text) {
    op(Op::BinUnicode);
    little_endian(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }

  void write_global(const char* module, const char* name) {
    op(Op::Global);
    out_ += std::string(module) + "\n" + name + "\n";
  }

  void write_list(const List& list) {
    op(Op::EmptyList);
    op(Op::Mark);
    for (const auto& element : list) write(element);
    op(Op::Appends);
  }

  void write_ordered_dict() {
    write_global("collections", "OrderedDict");
    op(Op::EmptyTuple);
    op(Op::Reduce);
  }

  void write_dict(const Dict& dict) {
    if (dict.ordered)
      write_ordered_dict();
    else
      op(Op::EmptyDict);
    op(Op::Mark);
    for (const auto& [key, value] : dict.entries()) {
      if (const auto* text = std::get_if<std::string>(&key))
        write_text(*text);
      else
        write_integer(std::get<std::int64_t>(key));
      write(value);
    }
    op(Op::SetItems);
  }

  void write_sizes(c10::IntArrayRef sizes) {
    op(Op::Mark);
    for (const auto size : sizes) write_integer(size);
    op(Op::Tuple);
  }

  void write_tensor(const at::Tensor& given) {
    if (!given.defined()) return op(Op::None);
    const auto tensor = given.detach().to(at::kCPU).contiguous();
    const auto* storage = pickle::storage_name(tensor.scalar_type());
    if (storage == nullptr)
      throw UsageError(c10::str("a tensor of type ", tensor.scalar_type(), " cannot be saved"));
    write_global("torch._utils", "_rebuild_tensor_v2");
    op(Op::Mark);
    op(Op::Mark);
    write_text("storage");
    write_global("torch", storage);
    write_text(std::to_string(storages_.size()));
    write_text("cpu");
    write_integer(tensor.numel());
    op(Op::Tuple);
    op(Op::BinPersId);
    write_integer(0);
    write_sizes(tensor.sizes());
    write_sizes(tensor.strides());
    op(Op::NewFalse);
    write_ordered_dict();
    op(Op::Tuple);
    op(Op::Reduce);
    storages_.push_back(tensor);
  }

  std::string out_;
  std::vector<at::Tensor> storages_;
};

void write(const Value& value, caffe2::serialize::PyTorchStreamWriter& zip) {
  Writer writer;
  const auto bytes = writer.take(value);
  zip.writeRecord("data.pkl", bytes.data(), bytes.size());
  zip.writeRecord("byteorder", "little", 6);
  for (std::size_t i = 0; i < writer.storages().size(); ++i) {
    const auto& tensor = writer.storages()[i];
    zip.writeRecord("data/" + std::to_string(i), tensor.const_data_ptr(), tensor.nbytes());
  }
  zip.writeEndOfFile();
}

}  // namespace

void save_value(const Value& value, const std::string& path) {
  try {
    caffe2::serialize::PyTorchStreamWriter zip(path);
    write(value, zip);
  } catch (const c10::Error& error) {
    throw std::runtime_error("cannot write " + path + ": " + error.what_without_backtrace());
  }
}

std::string to_bytes(const Value& value) {
  std::string bytes;
  caffe2::serialize::PyTorchStreamWriter zip([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  write(value, zip);
  return bytes;
}

}  // namespace det::pytorch
