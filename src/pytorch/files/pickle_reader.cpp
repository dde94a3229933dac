#include "det/pytorch/files/pickle_reader.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>

#include <cstring>
#include <sstream>

#include "det/pytorch/files/pickle_types.h"

namespace det::pytorch {

namespace pickle {

namespace {

constexpr int kDepthMax = 200;
constexpr std::size_t kStackMax = 10'000'000;

}  // namespace

void Reader::damaged(const char* why) const {
  throw UsageError(c10::str("byte ", at_, ": ", why));
}

std::string_view Reader::take(std::size_t count) {
  if (count > bytes_.size() - at_) damaged("the data ends in the middle of a value");
  at_ += count;
  return bytes_.substr(at_ - count, count);
}

template <typename T>
T Reader::number() {
  T value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::string Reader::line() {
  const auto end = bytes_.find('\n', at_);
  if (end == std::string_view::npos) damaged("the data ends in the middle of a name");
  std::string text(take(end - at_));
  take(1);
  return text;
}

Reader::NodePtr Reader::pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) damaged("a value is missing");
  auto node = std::move(stack_.back());
  stack_.pop_back();
  return node;
}

Reader::NodePtr& Reader::top() {
  if (stack_.empty()) damaged("a value is missing");
  return stack_.back();
}

std::vector<Reader::NodePtr> Reader::pop_to_mark() {
  if (marks_.empty() || marks_.back() > stack_.size()) damaged("a mark is missing");
  const auto mark = static_cast<std::ptrdiff_t>(marks_.back());
  marks_.pop_back();
  std::vector<NodePtr> items(stack_.begin() + mark, stack_.end());
  stack_.erase(stack_.begin() + mark, stack_.end());
  return items;
}

void Reader::push(Value value) {
  if (stack_.size() >= kStackMax) damaged("too many values");
  auto node = std::make_shared<Node>();
  node->value = std::move(value);
  stack_.push_back(std::move(node));
}

void Reader::push_items(Node::Kind kind, std::vector<NodePtr> items) {
  push(Value());
  stack_.back()->kind = kind;
  stack_.back()->items = std::move(items);
}

void Reader::push_tuple(std::size_t count) {
  std::vector<NodePtr> items(count);
  for (auto at = items.rbegin(); at != items.rend(); ++at) *at = pop();
  push_items(Node::Kind::Tuple, std::move(items));
}

void Reader::push_global(std::string name) {
  push(Value());
  stack_.back()->kind = Node::Kind::Global;
  stack_.back()->name = std::move(name);
}

void Reader::push_long(std::size_t count) {
  const auto digits = take(count);
  if (count > 8) return push(Value::Foreign{"int of more than 64 bits"});
  std::int64_t value = count > 0 && (digits.back() & 0x80) != 0 ? -1 : 0;
  if (count > 0) std::memcpy(&value, digits.data(), count);
  push(value);
}

void Reader::add_items(const std::vector<NodePtr>& items) {
  auto& target = top();
  if (target->kind == Node::Kind::List) target->items.insert(target->items.end(), items.begin(), items.end());
}

void Reader::set_items(const std::vector<NodePtr>& items) {
  if (items.size() % 2 != 0) damaged("a key without a value");
  auto& target = top();
  if (target->kind != Node::Kind::Dict) return;  // items of a foreign object
  for (std::size_t i = 0; i < items.size(); i += 2) target->pairs.emplace_back(items[i], items[i + 1]);
}

Reader::NodePtr Reader::load_storage(const Node& id) {
  if (id.kind != Node::Kind::Tuple || id.items.size() < 5) damaged("a storage without a key");
  const auto& type_name = id.items[1]->name;
  const auto type = type_of_storage(type_name.substr(type_name.rfind('.') + 1));
  if (!type) damaged("a storage of an unknown type");
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::Storage;
  node->value = storage_(id.items[2]->value.text(), *type, id.items[4]->value.integer());
  return node;
}

Reader::NodePtr Reader::rebuild_tensor(const Node& arguments) {
  if (arguments.items.size() < 4 || arguments.items[0]->kind != Node::Kind::Storage)
    damaged("a tensor without a storage");
  const auto& storage = arguments.items[0]->value.tensor();
  const auto sizes_of = [&](const Node& tuple) {
    std::vector<std::int64_t> sizes;
    for (const auto& item : tuple.items) sizes.push_back(item->value.integer());
    return sizes;
  };
  const auto offset = arguments.items[1]->value.integer();
  const auto sizes = sizes_of(*arguments.items[2]);
  const auto strides = sizes_of(*arguments.items[3]);
  // The last element must lie in the storage; each step is checked, because the numbers are a stranger's.
  std::int64_t last = offset;
  bool fits = offset >= 0 && sizes.size() == strides.size();
  bool empty = false;
  for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
    std::int64_t reach = 0;
    fits = sizes[i] >= 0 && strides[i] >= 0 &&
           !__builtin_mul_overflow(sizes[i] > 0 ? sizes[i] - 1 : 0, strides[i], &reach) &&
           !__builtin_add_overflow(last, reach, &last);
    empty = empty || sizes[i] == 0;
  }
  if (!fits || (!empty && last >= storage.numel())) damaged("a tensor that reaches beyond its storage");
  auto node = std::make_shared<Node>();
  node->value = empty ? at::empty(sizes, storage.options()) : storage.as_strided(sizes, strides, offset);
  return node;
}

void Reader::reduce() {
  const auto arguments = pop();
  const auto callable = pop();
  const auto& name = callable->name;
  if (name == "collections.OrderedDict" || name == "collections.defaultdict") {
    push(Value());
    stack_.back()->kind = Node::Kind::Dict;
    stack_.back()->ordered = name.ends_with("OrderedDict");
  } else if (name == "torch._utils._rebuild_tensor_v2") {
    stack_.push_back(rebuild_tensor(*arguments));
  } else if (name == "torch._utils._rebuild_parameter" && !arguments->items.empty()) {
    stack_.push_back(arguments->items[0]);
  } else {
    push(Value::Foreign{name.empty() ? "unknown" : name});
  }
}

/// Does one instruction; false after the last.
bool Reader::step() {
  const auto op = static_cast<Op>(take(1)[0]);
  switch (op) {
    case Op::Proto: take(1); break;
    case Op::Frame: take(8); break;
    case Op::Stop: return false;
    case Op::Mark: marks_.push_back(stack_.size()); break;
    case Op::Pop: pop(); break;
    case Op::PopMark: pop_to_mark(); break;
    case Op::Dup: stack_.push_back(NodePtr(top())); break;
    case Op::None: push(Value()); break;
    case Op::NewTrue: push(true); break;
    case Op::NewFalse: push(false); break;
    case Op::BinInt: push(number<std::int32_t>()); break;
    case Op::BinInt1: push(number<std::uint8_t>()); break;
    case Op::BinInt2: push(number<std::uint16_t>()); break;
    case Op::Long1: push_long(number<std::uint8_t>()); break;
    case Op::Long4: push_long(number<std::uint32_t>()); break;
    case Op::BinFloat: {
      const auto bits = __builtin_bswap64(number<std::uint64_t>());
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      push(value);
      break;
    }
    case Op::BinUnicode:
    case Op::BinString:
    case Op::BinBytes: push(std::string(take(number<std::uint32_t>()))); break;
    case Op::ShortBinUnicode:
    case Op::ShortBinString:
    case Op::ShortBinBytes: push(std::string(take(number<std::uint8_t>()))); break;
    case Op::EmptyTuple: push_items(Node::Kind::Tuple, {}); break;
    case Op::Tuple: push_items(Node::Kind::Tuple, pop_to_mark()); break;
    case Op::Tuple1: push_tuple(1); break;
    case Op::Tuple2: push_tuple(2); break;
    case Op::Tuple3: push_tuple(3); break;
    case Op::EmptySet:
    case Op::EmptyList: push_items(Node::Kind::List, {}); break;
    case Op::Append: {
      const auto item = pop();
      add_items({item});
      break;
    }
    case Op::AddItems:
    case Op::Appends: add_items(pop_to_mark()); break;
    case Op::EmptyDict:
      push(Value());
      stack_.back()->kind = Node::Kind::Dict;
      break;
    case Op::SetItem: {
      const auto value = pop();
      const auto key = pop();
      set_items({key, value});
      break;
    }
    case Op::SetItems: set_items(pop_to_mark()); break;
    case Op::Global: {
      const auto module = line();
      push_global(module + "." + line());
      break;
    }
    case Op::StackGlobal: {
      const auto name = pop();
      const auto module = pop();
      push_global(module->value.text() + "." + name->value.text());
      break;
    }
    case Op::NewObj:
    case Op::Reduce: reduce(); break;
    case Op::Build: pop(); break;  // a state that only Python needs, such as _metadata of a state_dict
    case Op::BinPersId: {
      const auto id = pop();
      stack_.push_back(load_storage(*id));
      break;
    }
    case Op::BinPut: memo_[number<std::uint8_t>()] = top(); break;
    case Op::LongBinPut: memo_[number<std::uint32_t>()] = top(); break;
    case Op::Memoize: memo_[static_cast<std::uint32_t>(memo_.size())] = top(); break;
    case Op::BinGet:
    case Op::LongBinGet: {
      const auto found = memo_.find(op == Op::BinGet ? number<std::uint8_t>() : number<std::uint32_t>());
      if (found == memo_.end()) damaged("a reference to nothing");
      stack_.push_back(found->second);
      break;
    }
    default: damaged("an unknown instruction");
  }
  return true;
}

Value Reader::finish(const Node& node, int depth) const {
  if (depth > kDepthMax) damaged("values are nested too deeply");
  switch (node.kind) {
    case Node::Kind::Value: return node.value;
    case Node::Kind::Global: return Value::Foreign{node.name};
    case Node::Kind::Storage: return Value::Foreign{"torch.storage"};
    case Node::Kind::List:
    case Node::Kind::Tuple: {
      List list;
      list.reserve(node.items.size());
      for (const auto& item : node.items) list.push_back(finish(*item, depth + 1));
      return list;
    }
    case Node::Kind::Dict: {
      Dict dict;
      dict.ordered = node.ordered;
      for (const auto& [key, value] : node.pairs) {
        if (const auto* text = key->value.as<std::string>())
          dict[*text] = finish(*value, depth + 1);
        else if (const auto* integer = key->value.as<std::int64_t>())
          dict[*integer] = finish(*value, depth + 1);
      }
      return dict;
    }
  }
  return {};
}

Value Reader::read() {
  while (step()) {
  }
  return finish(*pop(), 0);
}

}  // namespace pickle

namespace {

Value read(caffe2::serialize::PyTorchStreamReader& zip) {
  const auto [bytes, size] = zip.getRecord("data.pkl");
  const auto storage = [&zip](const std::string& key, c10::ScalarType type, std::int64_t elements) {
    const auto name = "data/" + key;
    const auto available = zip.getRecordSize(name);
    const auto wanted = static_cast<std::size_t>(elements) * c10::elementSize(type);
    if (elements < 0 || static_cast<std::size_t>(elements) > available || wanted > available)
      throw UsageError("storage " + key + " is cut short");
    auto tensor = at::empty({elements}, at::TensorOptions(type));
    if (wanted > 0) {
      auto [data, bytes_read] = zip.getRecord(name);
      std::memcpy(tensor.mutable_data_ptr(), data.get(), std::min(wanted, bytes_read));
    }
    return tensor;
  };
  return pickle::Reader({static_cast<const char*>(bytes.get()), size}, storage).read();
}

}  // namespace

Value load_value(const std::string& path) {
  try {
    caffe2::serialize::PyTorchStreamReader zip(path);
    return read(zip);
  } catch (const c10::Error& error) {
    throw UsageError(path + " is damaged or not a file of torch.save: " + error.what_without_backtrace());
  } catch (const UsageError& error) {
    throw UsageError(path + " is damaged: " + error.what());
  }
}

Value from_bytes(const std::string& bytes) {
  try {
    std::istringstream stream(bytes);
    caffe2::serialize::PyTorchStreamReader zip(&stream);
    return read(zip);
  } catch (const c10::Error& error) {
    throw UsageError(std::string("a value that another rank sent is damaged: ") +
                     error.what_without_backtrace());
  }
}

}  // namespace det::pytorch
