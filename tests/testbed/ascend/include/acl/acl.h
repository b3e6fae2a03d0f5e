// SPDX-License-Identifier: Apache-2.0
// Written for the tests, after the documented names; not CANN's.
#pragma once
#include "acl/acl_rt.h"
extern "C" {
int aclInit(const char *config);
int aclFinalize();
}
