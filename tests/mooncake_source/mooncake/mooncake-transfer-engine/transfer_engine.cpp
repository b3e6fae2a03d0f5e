// SPDX-License-Identifier: Apache-2.0
#include <ylt/version.hpp>

#include "transfer_engine.h"

#ifdef USE_ASCEND_DIRECT
int ascend_transport_probe();
#endif

const char *transfer_engine_yalantinglibs() { return YLT_VERSION; }

int transfer_engine_probe() {
#ifdef USE_ASCEND_DIRECT
  return ascend_transport_probe();
#else
  return 0;
#endif
}
