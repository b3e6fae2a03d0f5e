// SPDX-License-Identifier: Apache-2.0
#include <ylt/version.hpp>

const char *common_yalantinglibs() { return YLT_VERSION; }
