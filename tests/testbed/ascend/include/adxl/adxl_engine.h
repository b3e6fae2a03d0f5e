// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "adxl/adxl_types.h"
namespace adxl {
class AdxlEngine {
 public:
  Status Initialize();
};
}  // namespace adxl
