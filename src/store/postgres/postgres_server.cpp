#include "det/store/postgres/postgres_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <vector>

#include "det/store/postgres/postgres.h"

namespace det::store {

namespace {

namespace fs = std::filesystem;

/// Where the newest version's programs are.
fs::path find_programs() {
  fs::path newest;
  int version = 0;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored))
    if (const int number = std::atoi(entry.path().filename().c_str()); number > version) {
      version = number;
      newest = entry.path() / "bin";
    }
  if (!fs::exists(newest / "initdb"))
    throw std::runtime_error("PostgreSQL is not installed; tools/setup.sh installs it");
  return newest;
}

/// Who runs it where we are root.
const passwd* other_user() {
  if (::geteuid() != 0) return nullptr;
  for (const char* name : {"postgres", "nobody"})
    if (const auto* user = ::getpwnam(name); user != nullptr) return user;
  return nullptr;
}

int free_port() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  ::close(listener);
  return ntohs(address.sin_port);
}

}  // namespace

PostgresServer::PostgresServer() : programs_(find_programs()), port_(free_port()) {
  std::string name = (fs::temp_directory_path() / "det-postgres-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
  directory_ = name;
  if (const auto* user = other_user();
      user != nullptr && ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0)
    throw std::runtime_error("cannot give away " + name);
  const auto data = (directory_ / "data").string();
  if (run("initdb",
          {"-D", data, "-U", "det", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "--no-sync"},
          true) != 0)
    throw std::runtime_error("initdb failed; see " + name + "/initdb.log");
  start();
}

PostgresServer::~PostgresServer() {
  if (process_ > 0) crash();
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

std::string PostgresServer::url(const std::string& name) const {
  return fmt::format("postgres://det@127.0.0.1:{}/{}", port_, name);
}

std::string PostgresServer::database(const std::string& name, const std::string& from) {
  PostgresConnection connection(url("postgres"), PostgresConnection::Mode::Write);
  Query query(connection, "SELECT COUNT(*) FROM pg_database WHERE datname = ?");
  query.bind(name);
  query.next();
  if (query.get<std::int64_t>() == 0)
    connection.execute(fmt::format("CREATE DATABASE \"{}\" TEMPLATE \"{}\"", name, from).c_str());
  return url(name);
}

void PostgresServer::drop(const std::string& name) {
  execute("postgres", fmt::format("DROP DATABASE IF EXISTS \"{}\" WITH (FORCE)", name));
}

void PostgresServer::execute(const std::string& name, const std::string& sql) {
  PostgresConnection connection(url(name), PostgresConnection::Mode::Write);
  connection.execute(sql.c_str());
}

void PostgresServer::require_password(const std::string& user) {
  const auto file = (directory_ / "data/pg_hba.conf").string();
  std::string rules;
  {
    std::ifstream in(file);
    rules.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::ofstream(file) << fmt::format("host all {} all scram-sha-256\n", user) << rules;
  execute("postgres", "SELECT pg_reload_conf()");
}

void PostgresServer::start() {
  // Without syncs: what a test does to the server leaves the kernel alive.
  process_ = run("postgres",
                 {"-D", (directory_ / "data").string(), "-k", directory_.string(), "-p",
                  std::to_string(port_), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c",
                  "full_page_writes=off", "-c", "max_connections=200"},
                 false);
  for (int attempt = 0; attempt < 1500; ++attempt) {
    const auto ready = fmt::format("host=127.0.0.1 port={} user=det dbname=postgres", port_);
    if (PQping(ready.c_str()) == PQPING_OK) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw std::runtime_error("PostgreSQL did not start; see " + directory_.string() + "/postgres.log");
}

void PostgresServer::crash() {
  ::kill(process_, SIGQUIT);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

void PostgresServer::restart() {
  if (process_ > 0) {
    ::kill(process_, SIGINT);
    ::waitpid(process_, nullptr, 0);
  }
  start();
}

int PostgresServer::run(const std::string& program, std::vector<std::string> arguments, bool wait) {
  const auto path = (programs_ / program).string();
  const auto log = (directory_ / (program + ".log")).string();
  const auto* user = other_user();
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (auto& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGINT);
    if (user != nullptr &&
        (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
      ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGINT);  // which a change of the user takes back
    if (::getppid() != parent || ::chdir("/") != 0) ::_exit(126);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    const int in = ::open("/dev/null", O_RDONLY);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::close_range(3, ~0U, 0);
    ::execv(path.c_str(), words.data());
    ::_exit(127);
  }
  if (!wait) return child;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace det::store
