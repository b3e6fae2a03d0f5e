// SPDX-License-Identifier: Apache-2.0
#include <Python.h>

#include "transfer_engine.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static PyObject *yalantinglibs(PyObject *, PyObject *) { return PyUnicode_FromString(transfer_engine_yalantinglibs()); }

static PyMethodDef methods[] = {{"yalantinglibs", yalantinglibs, METH_NOARGS, "The version that it was compiled with."},
                                {nullptr, nullptr, 0, nullptr}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, MODULE_TEXT, nullptr, -1, methods,
                                 nullptr,               nullptr,     nullptr, nullptr};

PyMODINIT_FUNC JOIN(PyInit_, MODULE_NAME)() { return PyModule_Create(&definition); }
