// bytes_text.cpp: which bytes are UTF-8, and characters for the others.
#include "engine/ops/bytes_text.h"

#include <cstddef>

namespace oneop {
namespace {

// The length of the UTF-8 character at `at`, 0 where there is none.
size_t utf8_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || at + length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const unsigned second = length > 1 ? byte(at + 1) : 0;
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_surrogate = first == 0xed && second > 0x9f;
  const bool is_too_high = first == 0xf4 && second > 0x8f;
  return is_overlong || is_surrogate || is_too_high ? 0 : length;
}

// Whether the three bytes at `at` are U+F700 to U+F7FF.
bool is_escape(const std::string& text, size_t at) {
  return at + 2 < text.size() && static_cast<unsigned char>(text[at]) == 0xef &&
         (static_cast<unsigned char>(text[at + 1]) & 0xfc) == 0x9c;
}

}  // namespace

std::string text_of_bytes(const std::string& bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = is_escape(bytes, at) ? 0 : utf8_length(bytes, at);
    if (length != 0) {
      text.append(bytes, at, length);
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    text += static_cast<char>(0xef);
    text += static_cast<char>(0x9c + (byte >> 6));
    text += static_cast<char>(0x80 + (byte & 0x3f));
  }
  return text;
}

std::string bytes_of_text(const std::string& text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_escape(text, at)) {
      bytes += text[at];
      continue;
    }
    bytes += static_cast<char>(((text[at + 1] & 3) << 6) | (text[at + 2] & 0x3f));
    at += 2;
  }
  return bytes;
}

}  // namespace oneop
