# det_embed(<target> DIRECTORY <dir> NAMESPACE <ns> [FALLBACK <file>])
#
# Makes the static library <target> that holds every file below <dir>, with
# `det::http::EmbeddedFiles det::<ns>::files()` declared in its header
# "<ns>_files.h". The bytes go in by the assembler's .incbin, so that large
# files cost no compile time. Where <dir> has no index.html, FALLBACK is
# embedded in its place: a build without the web page says how to make it.
#
# The digest of a file is part of the table, so a browser's cache is right
# whenever the table is.
function(det_embed target)
  cmake_parse_arguments(ARG "" "DIRECTORY;NAMESPACE;FALLBACK" "" ${ARGN})
  file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE ${ARG_DIRECTORY} ${ARG_DIRECTORY}/*)
  list(SORT found)
  set(names)
  set(sources)
  foreach(name IN LISTS found)
    list(APPEND names "/${name}")
    list(APPEND sources ${ARG_DIRECTORY}/${name})
  endforeach()
  if(ARG_FALLBACK AND NOT "/index.html" IN_LIST names)
    message(STATUS "${ARG_DIRECTORY} has no index.html: embedding ${ARG_FALLBACK} instead")
    set(names /index.html)
    set(sources ${ARG_FALLBACK})
  endif()

  set(symbol det_embedded_${ARG_NAMESPACE})
  set(assembly ".section .rodata\n")
  set(declarations "")
  set(rows "")
  set(index 0)
  foreach(name source IN ZIP_LISTS names sources)
    file(SHA256 ${source} digest)
    string(SUBSTRING ${digest} 0 20 digest)
    set(begin ${symbol}_${index}_begin)
    set(end ${symbol}_${index}_end)
    string(APPEND assembly ".balign 16\n.globl ${begin}, ${end}\n.hidden ${begin}, ${end}\n"
                           "${begin}:\n.incbin \"${source}\"\n${end}:\n.byte 0\n")
    string(APPEND declarations "extern const char ${begin}[];\nextern const char ${end}[];\n")
    string(APPEND rows "    {\"${name}\", ${begin}, ${end}, \"${digest}\"},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND assembly ".section .note.GNU-stack,\"\",@progbits\n")

  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target})
  file(CONFIGURE OUTPUT ${out}/bytes.S CONTENT "${assembly}" @ONLY)
  file(CONFIGURE OUTPUT ${out}/${ARG_NAMESPACE}_files.h @ONLY CONTENT
"#pragma once

#include \"det/http/server/embedded.h\"

namespace det::${ARG_NAMESPACE} {

/// Files embedded by cmake/embed.cmake, sorted by path.
http::EmbeddedFiles files();

}  // namespace det::${ARG_NAMESPACE}
")
  file(CONFIGURE OUTPUT ${out}/table.cpp @ONLY CONTENT
"#include \"${ARG_NAMESPACE}_files.h\"

extern \"C\" {
${declarations}}

namespace det::${ARG_NAMESPACE} {

http::EmbeddedFiles files() {
  static const http::EmbeddedFile kFiles[] = {
${rows}  };
  return kFiles;
}

}  // namespace det::${ARG_NAMESPACE}
")
  add_library(${target} STATIC ${out}/bytes.S ${out}/table.cpp)
  set_source_files_properties(${out}/bytes.S PROPERTIES OBJECT_DEPENDS "${sources}")
  # A changed file changes its digest, which is computed at configure time.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  target_include_directories(${target} PUBLIC ${out})
  target_link_libraries(${target} PUBLIC det::http)
endfunction()
