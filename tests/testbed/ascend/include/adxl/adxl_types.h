// SPDX-License-Identifier: Apache-2.0
#pragma once
namespace adxl {
using Status = int;
}
