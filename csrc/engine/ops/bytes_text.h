// bytes_text.h: bytes as text, and back.
#pragma once

#include <string>

namespace oneop {

// A schema has no bytes, and its strings are UTF-8 wherever torch shows them to Python, in graphs
// and exported programs. So bytes travel as text: valid UTF-8 as it is, any other byte b as the
// character U+F700 + b, and characters of that block byte by byte. Every text is one value only.
std::string text_of_bytes(const std::string& bytes);
std::string bytes_of_text(const std::string& text);

}  // namespace oneop
