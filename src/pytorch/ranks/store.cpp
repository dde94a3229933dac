#include "det/pytorch/ranks/store.h"

#include "det/pytorch/ranks/store_parts.h"

namespace det::pytorch {

namespace {

std::string first_line(const char* text) {
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

/// Any failure of the store's is the loss of who serves it.
template <typename Body>
auto lost_unless(const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    throw StoreLost(first_line(error.what()));
  }
}

}  // namespace

Store::Store(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Store::~Store() = default;

std::unique_ptr<Store> Store::serve(int socket, std::uint16_t port) {
  return lost_unless([&] {
    auto parts = std::make_unique<Parts>();
    c10d::TCPStoreOptions options;
    options.port = port;
    options.isServer = true;
    options.waitWorkers = false;
    options.masterListenFd = socket;
    parts->store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    return std::unique_ptr<Store>(new Store(std::move(parts)));
  });
}

std::unique_ptr<Store> Store::connect(const std::string& host, std::uint16_t port,
                                      std::chrono::milliseconds timeout) {
  return lost_unless([&] {
    auto parts = std::make_unique<Parts>();
    c10d::TCPStoreOptions options;
    options.port = port;
    options.waitWorkers = false;
    options.timeout = timeout;
    parts->store = c10::make_intrusive<c10d::TCPStore>(host, options);
    return std::unique_ptr<Store>(new Store(std::move(parts)));
  });
}

void Store::set(const std::string& key, const std::string& value) {
  lost_unless([&] { parts_->store->c10d::Store::set(key, value); });
}

std::string Store::get(const std::string& key) {
  return lost_unless([&] { return parts_->store->get_to_str(key); });
}

bool Store::has(const std::string& key) {
  return lost_unless([&] { return parts_->store->check({key}); });
}

bool Store::wait(const std::string& key, std::chrono::milliseconds timeout) {
  try {
    parts_->store->wait({key}, timeout);
    return true;
  } catch (const std::exception& error) {
    const std::string text = error.what();
    if (text.find("timeout") != std::string::npos || text.find("timed out") != std::string::npos)
      return false;
    throw StoreLost(first_line(error.what()));
  }
}

std::int64_t Store::add(const std::string& key, std::int64_t amount) {
  return lost_unless([&] { return parts_->store->add(key, amount); });
}

std::string Store::claim(const std::string& key, const std::string& value) {
  return lost_unless([&] {
    const auto held = parts_->store->c10d::Store::compareSet(key, "", value);
    return held;
  });
}

}  // namespace det::pytorch
