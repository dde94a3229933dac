#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace det::pytorch {

/// The names that a compiler's dependency file (-MMD) gives as read: "a.o: a.cpp b\ c.h \<newline> d.h".
std::vector<std::string> prerequisites(const std::string& dependency_file);

/// What the build of a model definition reads of its directory, and a name for the content of all of it.
///
/// Sources and headers are known by their extensions. What else they include (tables, embedded data) only the
/// compiler knows: it is noted after a build, and looked at from then on.
class BuildInputs {
 public:
  enum class Reads {
    Sources,
    Everything,  ///< what CMake reads nobody knows: all but descriptions and configurations
  };
  /// `notes`: a directory for what builds have noted. `identity`: what else decides the outcome.
  BuildInputs(std::filesystem::path directory, std::filesystem::path notes, const std::string& identity,
              Reads reads = Reads::Sources);

  /// The name of the sources alone: of all builds that may share a note.
  const std::string& sources_digest() const { return sources_digest_; }
  /// The name of all that is known to be read.
  std::string digest() const;
  /// Notes the files of the directory in dependency files (*.d) below `scratch`, where sources do not cover
  /// them.
  void note_read(const std::filesystem::path& scratch);

 private:
  std::vector<std::string> noted() const;

  std::filesystem::path directory_, notes_;
  std::vector<std::filesystem::path> sources_;
  std::string sources_digest_;
};

}  // namespace det::pytorch
