// SPDX-License-Identifier: Apache-2.0
#pragma once
const char *transfer_engine_yalantinglibs();
int transfer_engine_probe();
