# SPDX-License-Identifier: Apache-2.0
"""Fills a new virtual environment from a lock, without a resolver: by uv where it can be had, else by pip.

Everything that only the installation needs lies in ``.making-…`` beside the environment and is removed at the end. Nothing
is kept between installations, so that no environment shares a file with another one or with a cache. Every command that
takes long names that folder, by which the host's lock knows that an installation is at work.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import tarfile
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.kvcache.ascend.plugins.module_utils import (
    host_files,
    mooncake_build,
    pip_errors,
    python_lock,
    python_stack,
    python_stack_look,
)
from ansible_collections.kvcache.ascend.plugins.module_utils.mooncake_proof import Runner, last_line

MOONCAKE_PTH = "kvcache-mooncake.pth"
WORK = ".making-"
"""What the names of folders begin with that exist only while an environment is made."""


class InstallError(Exception):
    """The environment could not be made; the text says what, why and what to do."""


@dataclass
class Order:
    """What to install, and from where."""

    root: str
    stack_id: str
    lock: str
    release: dict[str, Any]
    inputs: dict[str, Any]
    python: str = "/usr/bin/python3"
    installer: str = "auto"
    uv_requirement: str = ""
    wheel_dir: str = ""
    wheel_archive: str = ""
    further_wheels: str = ""
    mooncake: str = ""
    compile: bool = True
    environment: dict[str, str] = field(default_factory=dict)


@dataclass
class Site:
    """The environment that is being filled."""

    order: Order
    path: str
    run: Runner

    @property
    def tools(self) -> str:
        return os.path.join(self.order.root, f"{WORK}{os.path.basename(self.path)}")

    @property
    def python(self) -> str:
        return python_stack_look.python_of(self.path)

    @property
    def wheels(self) -> str:
        """The folder with wheels on this host; empty when they come from an index."""
        return (
            os.path.join(self.tools, "wheels") if self.order.wheel_archive else self.order.wheel_dir
        )

    def source(self) -> list[str]:
        """Options of pip and uv that say where packages come from."""
        further = self.order.further_wheels
        return [
            *(["--no-index", "--find-links", self.wheels] if self.wheels else []),
            *(["--find-links", further] if further else []),
        ]

    def call(self, command: list[str], what: str) -> None:
        """Run a command of the installation; InstallError explains why it failed."""
        environment = {
            "TMPDIR": os.path.join(self.tools, "tmp"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "UV_CACHE_DIR": os.path.join(self.tools, "cache"),
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_PROGRESS": "1",
            **self.order.environment,
        }
        status, output, error = self.run(command, environment)
        if status != 0:
            explained = pip_errors.explain(
                f"{output}\n{error}",
                self.order.root,
                wheel_dir="python_stack_wheel_dir",
                python="python_stack_python",
            )
            raise InstallError(f"{what}: {explained}")


def check_space(order: Order, free: int) -> None:
    """Refuse what can't fit: unpacked wheels take more than the wheels themselves."""
    wheels = sum(item["size_bytes"] for item in python_lock.parse(order.lock)["packages"])
    if free < wheels:
        raise InstallError(
            f"{order.root} has {free / 1e9:.1f} GB free, the wheels alone are {wheels / 1e9:.1f} GB and take about four "
            f"times as much unpacked. Fix: free space (df -h {order.root}; python_stack_keep says how many stacks stay), "
            "or set python_stack_root to another file system."
        )


def make_environment(site: Site) -> None:
    """Make the virtual environment, without pip in it: nobody shall be tempted to change it by hand."""
    site.call(
        [site.order.python, "-m", "venv", "--without-pip", site.path], "making the environment"
    )
    for folder in ("tmp", "cache"):
        os.makedirs(os.path.join(site.tools, folder))


def unpack_wheels(site: Site) -> None:
    """Unpack the wheels that the control node packed, and drop the archive."""
    if not site.order.wheel_archive:
        return
    os.makedirs(site.wheels)
    with tarfile.open(site.order.wheel_archive) as archive:
        for member in archive:
            # Wheels alone, flat: whatever else an archive may hold has no business here.
            member.name = os.path.basename(member.name)
            if member.isfile() and member.name.endswith(".whl"):
                archive.extract(member, site.wheels)
    os.unlink(site.order.wheel_archive)


def bring_pip(site: Site) -> list[str]:
    """Bring the pip that Python has with it into a folder of the tools; return the words that run it for the stack."""
    venv = os.path.join(site.tools, "venv")
    if not os.path.isdir(venv):
        site.call(
            [site.order.python, "-m", "venv", "--without-pip", venv],
            "making an environment for pip",
        )
        python = python_stack_look.python_of(venv)
        site.call([python, "-m", "ensurepip", "--default-pip"], "bringing pip")
    (pip,) = glob.glob(os.path.join(venv, "lib", "python*", "site-packages", "pip"))
    # A folder is a program for Python; run by the stack's own Python it installs into the stack.
    return [site.python, pip, "--no-input"]


def bring_uv(site: Site) -> str:
    """Return a uv: the host's own, or the one that the role names, brought by pip."""
    own = shutil.which("uv")
    if own:
        return own
    requirement = os.path.join(site.tools, "uv.txt")
    with open(requirement, "w", encoding="utf-8") as handle:
        handle.write(site.order.uv_requirement + "\n")
    target = os.path.join(site.tools, "uv")
    command = [*bring_pip(site), *pip_options(site, requirement), "--target", target]
    site.call(command, "bringing uv")
    return os.path.join(target, "bin", "uv")


def pip_options(site: Site, requirements: str) -> list[str]:
    return [
        *(
            "install",
            "--no-deps",
            "--require-hashes",
            "--only-binary",
            ":all:",
            "--no-cache-dir",
            "--no-compile",
        ),
        *("--retries", "2", "--timeout", "20", "--requirement", requirements),
        *site.source(),
    ]


def install_with_uv(site: Site, uv: str, lock: str) -> None:
    command = [
        *(uv, "pip", "install", "--no-config", "--quiet", "--python", site.python),
        *("--no-deps", "--require-hashes", "--only-binary", ":all:"),
        # A hash names one file, so it does not matter which of the indexes has it.
        *("--index-strategy", "unsafe-best-match", "--requirement", lock),
        *site.source(),
    ]
    site.call(command, "installing with uv")


def install(site: Site, lock: str) -> str:
    """Install the lock's packages; return with what.

    Where uv fails, pip may not: a host's own pip.conf can name an index that uv is not told of.
    """
    if site.order.installer != "pip":
        try:
            install_with_uv(site, bring_uv(site), lock)
            return "uv"
        except InstallError:
            if site.order.installer == "uv":
                raise
    site.call([*bring_pip(site), *pip_options(site, lock)], "installing with pip")
    return "pip"


def site_packages(path: str) -> str:
    """Return the folder of the environment's packages."""
    (folder,) = glob.glob(os.path.join(path, "lib", "python*", "site-packages"))
    return folder


def write_text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as handle:
        handle.write(text)


def add_alias(path: str, alias: dict[str, str] | None) -> None:
    """Give a package a second name, as the program of one package asks for the version of another."""
    if not alias:
        return
    folder = os.path.join(site_packages(path), f"{alias['name']}-{alias['version']}.dist-info")
    os.makedirs(folder)
    lines = ["Metadata-Version: 2.1", f"Name: {alias['name']}", f"Version: {alias['version']}", ""]
    write_text(os.path.join(folder, "METADATA"), "\n".join(lines))
    write_text(os.path.join(folder, "INSTALLER"), "kvcache.ascend\n")


def finish(site: Site) -> None:
    """Add what no wheel brings, compile, and open the tree to services."""
    add_alias(site.path, site.order.release["alias"])
    if site.order.mooncake:
        write_text(os.path.join(site_packages(site.path), MOONCAKE_PTH), site.order.mooncake + "\n")
    if site.order.compile:
        # A service may not write here, so that Python would compile everything anew at each of its starts. Some
        # packages hold templates that are no valid Python; compileall's exit status speaks of them.
        listed = os.path.join(site.tools, "compile.txt")
        write_text(listed, site_packages(site.path) + "\n")
        site.run([site.python, "-m", "compileall", "-q", "-j", "0", "-i", listed], {})
    mooncake_build.open_to_services(site.path)


def check(site: Site, installer: str, created: str) -> dict[str, Any]:
    """Compare what is there with the lock; return the manifest."""
    manifest = {
        "stack_id": site.order.stack_id,
        "place": os.path.basename(site.path),
        "release": site.order.release,
        "inputs": site.order.inputs,
        "installer": installer,
        "created": created,
        "size_bytes": mooncake_build.tree_size_bytes(site.path),
    }
    seen = python_stack_look.look_at(site.order.root, manifest, site.run)
    if not seen["usable"]:
        keys = ("error", "missing", "extra", "different", "twice", "damaged")
        wrong = {key: seen[key] for key in keys if seen.get(key)}
        raise InstallError(
            f"what was installed is not what the lock says: {json.dumps(wrong)[:600]}"
        )
    return manifest


def fill(order: Order, place: str, created: str, run: Runner) -> dict[str, Any]:
    """Make the environment `place` below the root, whole or not at all; return its manifest."""
    check_space(order, host_files.free_bytes(order.root))
    site = Site(order, os.path.join(order.root, place), run)
    try:
        make_environment(site)
        unpack_wheels(site)
        lock = os.path.join(site.tools, python_stack.LOCK)
        write_text(lock, order.lock)
        installer = install(site, lock)
        shutil.copy(lock, os.path.join(site.path, python_stack.LOCK))
        finish(site)
        manifest = check(site, installer, created)
        write_text(
            os.path.join(site.path, f".{python_stack.MANIFEST}"),
            json.dumps(manifest, indent=2) + "\n",
        )
        os.sync()
        os.rename(
            os.path.join(site.path, f".{python_stack.MANIFEST}"),
            os.path.join(site.path, python_stack.MANIFEST),
        )
    except BaseException:
        shutil.rmtree(site.path, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(site.tools, ignore_errors=True)
    return manifest


def clear(order: Order) -> list[str]:
    """Remove what interrupted runs left behind, the wheels that were brought for this one apart; return the names."""
    names = python_stack.unfinished(order.root)
    for name in names:
        shutil.rmtree(os.path.join(order.root, name), ignore_errors=True)
    for archive in glob.glob(os.path.join(order.root, f"{WORK}*.tar")):
        if archive != order.wheel_archive:
            os.unlink(archive)
            names.append(os.path.basename(archive))
    return names


def explain_os_error(error: OSError, root: str) -> str:
    """Return cause and fix of what the operating system refused."""
    where = error.filename or root
    return pip_errors.explain(f"{where}: {last_line(error.strerror or str(error))}", root)
