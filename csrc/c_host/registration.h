// registration.h: adding a library to the registries, in a program without a framework.
#pragma once

#include <string>
#include <vector>

namespace oneop {

// Opens the library and makes its ops known, all or nothing; returns the names of those that are
// new or changed. A library of the same name replaces an earlier one. Throws what read_library and
// Registry::prepare throw.
std::vector<std::string> register_file(const std::string& path, const std::string& library,
                                       const std::string& package);

}  // namespace oneop
