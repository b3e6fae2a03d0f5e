# SPDX-License-Identifier: Apache-2.0
"""Programs that a stack's own Python runs to tell what it has, each printing JSON. They change nothing."""

from __future__ import annotations

INSPECT = r"""
import base64, csv, hashlib, importlib.metadata as md, json, os, platform, re, sys, sysconfig
deep = sys.argv[1] == "deep"
folders = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
normal = lambda name: re.sub(r"[-_.]+", "-", name).lower()
packages, twice, damaged, requires = {}, [], [], []
plugins = {"vllm.platform_plugins": {}, "vllm.general_plugins": {}}

def digest(path, algorithm):
    found = hashlib.new(algorithm)
    with open(path, "rb") as handle:
        for block in iter(lambda: handle.read(1 << 20), b""):
            found.update(block)
    return base64.urlsafe_b64encode(found.digest()).rstrip(b"=").decode()

def changed_files(dist):
    for path, stamp, size in (row[:3] for row in csv.reader((dist.read_text("RECORD") or "").splitlines()) if len(row) > 2):
        if not stamp or not size or path.endswith(".pyc"):
            continue
        full = str(dist.locate_file(path))
        try:
            if os.stat(full).st_size != int(size):
                yield path, "its size differs"
            elif deep and digest(full, stamp.partition("=")[0]) != stamp.partition("=")[2]:
                yield path, "its content differs"
        except OSError as error:
            yield path, "it can't be read: " + error.strerror

for dist in md.distributions(path=folders):
    name = dist.metadata["Name"] if dist.metadata else None
    if not name:
        damaged.append([str(getattr(dist, "_path", "?")), "it has no metadata"])
        continue
    name = normal(name)
    if name in packages:
        twice.append(name)
    packages[name] = dist.version
    requires += [(name, text) for text in dist.requires or []]
    damaged += [[os.path.normpath(path), why] for path, why in changed_files(dist)]
    for point in dist.entry_points:
        if point.group in plugins:
            plugins[point.group][point.name] = point.value

unmet = None
try:
    from packaging.requirements import Requirement
    unmet = []
    for owner, text in requires:
        wanted = Requirement(text)
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        have = packages.get(normal(wanted.name))
        if have is None or not wanted.specifier.contains(have, prereleases=True):
            unmet.append({"package": owner, "requires": normal(wanted.name) + str(wanted.specifier), "installed": have})
except Exception:
    pass
print(json.dumps({
    "python_version": platform.python_version(), "packages": packages, "twice": sorted(set(twice)),
    "damaged_count": len(damaged), "damaged": damaged[:10], "unmet": unmet, "plugins": plugins,
}))
"""
"""Lists the distributions of the environment and what of their files is not as they were installed.

Its argument is ``deep`` to read every file, or ``quick`` to compare sizes alone.
"""

IMPORT = r"""
import importlib, json, sys, traceback
for name in sys.argv[1:]:
    print(json.dumps({"begins": name}), flush=True)
    value = error = None
    try:
        if name == "platform":
            from vllm.platforms import current_platform
            value = type(current_platform).__name__
        else:
            module = importlib.import_module(name)
            value = getattr(module, "__version__", None)
    except BaseException as caught:
        error = "".join(traceback.format_exception_only(type(caught), caught)).strip()
        cause = caught.__cause__
        while cause is not None:
            error += " <- " + "".join(traceback.format_exception_only(type(cause), cause)).strip()
            cause = cause.__cause__
    print(json.dumps({"name": name, "value": None if value is None else str(value), "error": error}), flush=True)
"""
"""Imports the modules that it is given, in their order; ``platform`` asks vLLM which platform it activates.

Each answer is a line of its own, so that a crash is laid to the one that had begun.
"""
