// SPDX-License-Identifier: Apache-2.0
#include <acl/acl.h>
#include <adxl/adxl_engine.h>

int ascend_transport_probe() {
  adxl::AdxlEngine engine;
  return aclInit(nullptr) + engine.Initialize();
}
