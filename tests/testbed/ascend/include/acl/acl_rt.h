// SPDX-License-Identifier: Apache-2.0
#pragma once
extern "C" {
int aclrtSetDevice(int device);
int aclrtGetDeviceCount(unsigned *count);
}
