// SPDX-License-Identifier: Apache-2.0
#pragma once
namespace ge {
class AscendString {
 public:
  const char *GetString() const;
};
}  // namespace ge
