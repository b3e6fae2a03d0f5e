# SPDX-License-Identifier: Apache-2.0
"""The collection as others get it: what the tarball holds, and that it works when it is installed elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALLOWED = re.compile(
    r"^(FILES\.json|MANIFEST\.json|README\.md|LICENSE|CHANGELOG\.rst"
    r"|changelogs/(changelog|config)\.yaml"
    r"|meta/(runtime|execution-environment)\.yml|meta/ee-(requirements|bindep)\.txt"
    r"|docs/[\w-]+\.md"
    r"|playbooks/(tasks/)?\w+\.yml"
    r"|plugins/(action|callback|doc_fragments|filter|module_utils|modules|plugin_utils)/\w+\.(py|yml)"
    r"|roles/\w+/README\.md"
    r"|roles/\w+/(defaults|files|handlers|meta|tasks|vars)/(\w+/)?\w+\.yml"
    r"|roles/evaluate/files/load\.py"
    r"|roles/python_stack/files/(uv|vllm)-\w+\.txt"
    r"|roles/release/files/locks/([\w.-]+\.txt|index\.yml)"
    r"|roles/\w+/templates/[\w.@-]+\.j2)$"
)


def run(command: list[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def tarball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what git tracks or would track, as a clean checkout has it."""
    source = tmp_path_factory.mktemp("source")
    listed = run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ROOT)
    for name in filter(None, listed.split("\0")):
        path, copy = ROOT / name, source / name
        if path.is_symlink() or path.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            run(["cp", "--no-dereference", str(path), str(copy)], ROOT)
    output = tmp_path_factory.mktemp("dist")
    run(
        ["ansible-galaxy", "collection", "build", "--output-path", str(output), str(source)], output
    )
    (built,) = output.glob("kvcache-ascend-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def elsewhere(tarball: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the installed collection and an inventory."""
    folder = tmp_path_factory.mktemp("elsewhere")
    install = [
        "ansible-galaxy",
        "collection",
        "install",
        str(tarball),
        "--offline",
        "-p",
        "collections",
    ]
    (folder / "ansible.cfg").write_text("[defaults]\ncollections_path = collections\n")
    (folder / "hosts").write_text(
        "[mooncake_master]\nlocalhost ansible_connection=local\n[vllm]\nlocalhost\n"
        f"[all:vars]\nrelease_name=cpu\nansible_python_interpreter={sys.executable}\n"
    )
    run(install, folder)
    return folder


def test_the_tarball_holds_only_what_it_should(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        names = [member.name for member in archive.getmembers() if not member.isdir()]
    assert [name for name in names if not ALLOWED.match(name)] == []
    assert {"playbooks/site.yml", "plugins/modules/mooncake_master_check.py", "LICENSE"} <= set(
        names
    )


def test_no_file_is_large(tarball: Path) -> None:
    with tarfile.open(tarball) as archive:
        assert [member.name for member in archive.getmembers() if member.size > 200_000] == []


@pytest.mark.parametrize(
    "playbook",
    [
        *(
            "site",
            "preflight",
            "mooncake",
            "mooncake_sources",
            "mooncake_master",
            "python_stack",
            "vllm",
            "plan",
            "bundle",
            "verify",
            "bootstrap",
            "evaluate",
            "store_node",
        ),
    ],
)
def test_playbooks_are_found_by_their_full_names(elsewhere: Path, playbook: str) -> None:
    run(
        ["ansible-playbook", f"kvcache.ascend.{playbook}", "-i", "hosts", "--syntax-check"],
        elsewhere,
    )


def test_every_module_has_its_documentation(elsewhere: Path) -> None:
    modules = sorted(path.stem for path in (ROOT / "plugins" / "modules").glob("*.py"))
    names = [f"kvcache.ascend.{name}" for name in modules]
    documented = json.loads(run(["ansible-doc", "--json", *names], elsewhere))
    assert sorted(documented) == names
    for name in names:
        assert documented[name]["doc"]["short_description"]
        assert documented[name]["examples"]


def test_every_filter_has_its_documentation(elsewhere: Path) -> None:
    text = run(["ansible-doc", "--list", "-t", "filter", "kvcache.ascend"], elsewhere)
    assert "UNDOCUMENTED" not in text
    assert "kvcache.ascend.mooncake_build_id" in text


def test_a_module_runs_from_the_installed_collection(elsewhere: Path) -> None:
    command = ["ansible", "localhost", "-i", "hosts", "-m", "kvcache.ascend.mooncake_master_info"]
    text = run([*command, "-a", "address=127.0.0.1:1 timeout=2"], elsewhere)
    assert "SUCCESS" in text
    assert "refused" in text
