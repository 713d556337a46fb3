// error.cpp: from an ABI status to an exception.
#include "engine/ops/error.h"

#include <algorithm>
#include <vector>

namespace oneop {

const char* Status::class_of(int32_t kind) {
  switch (kind) {
    case ONEOP_ERROR_TYPE:
      return "OpTypeError";
    case ONEOP_ERROR_VALUE:
      return "OpValueError";
    case ONEOP_ERROR_INDEX:
      return "OpIndexError";
    case ONEOP_ERROR_NOT_IMPLEMENTED:
      return "OpNotImplementedError";
    case ONEOP_ERROR_CHECK:
      return "CheckError";
    default:
      return "OpRuntimeError";
  }
}

Status::Status() {
  block_.status.size = sizeof(oneop_status);
  block_.status.kind = ONEOP_OK;
  block_.status.report = &Status::report;
}

void Status::report(oneop_status* status, int32_t kind, const char* message, int64_t length,
                    const char* file, int32_t line) {
  Block* block = reinterpret_cast<Block*>(status);
  status->kind = kind == ONEOP_OK ? ONEOP_ERROR_RUNTIME : kind;
  block->report = std::make_unique<Report>();
  if (message != nullptr) {
    block->report->message.assign(message, length);
  }
  if (file != nullptr) {
    block->report->file = file;
  }
  block->report->line = line;
}

std::string Status::message() const {
  const bool silent = block_.report == nullptr || block_.report->message.empty();
  return silent ? "failed without saying why" : block_.report->message;
}

void Status::check(int32_t code, const std::string& what) {
  if (code != ONEOP_OK || failed()) {
    raise(code, what, "");
  }
}

void Status::raise(int32_t code, const std::string& what, const std::string& line) {
  std::string text = what + ": " + message() + (line.empty() ? "" : "\n  ") + line;
  if (block_.report != nullptr && !block_.report->file.empty()) {
    text += "\n  at " + block_.report->file + ":" + std::to_string(block_.report->line);
  }
  throw Error(class_of(failed() ? block_.status.kind : code), std::move(text),
              block_.report == nullptr ? nullptr : block_.report->cause);
}

void Status::set_cause(oneop_status* status, std::shared_ptr<void> cause) {
  reinterpret_cast<Block*>(status)->report->cause = std::move(cause);
}

int32_t Status::fail(oneop_status* status, int32_t kind, const std::string& message) {
  status->report(status, kind, message.data(), static_cast<int64_t>(message.size()), nullptr, 0);
  return kind;
}

std::string in_quotes(const std::string& name) { return "\"" + name + "\""; }

bool same_letters(const std::string& a, const std::string& b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) {
    row[j] = static_cast<int>(j);
  }
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace oneop
