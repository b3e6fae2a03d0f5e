# SPDX-License-Identifier: Apache-2.0
"""Sends an instance N documents, round after round, and writes down what was seen after each number of documents.

The load and its times are those of vLLM's own generator ("vllm bench serve"). It is called in this process and not once for
each round, since the import of vLLM takes longer than a short round. What the instance counts is copied between the rounds,
and made sense of elsewhere.

load.py PLAN     in the Python environment that has vLLM; the API key comes from OPENAI_API_KEY
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from typing import Any, Callable

# The generator needs no device, and must not take one from the instance.
os.environ.setdefault("VLLM_PLUGINS", "")
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

ANSWER_SECONDS = 30.0
SETTLE_SECONDS = 10.0
"""The metrics of a request are counted a moment after its answer, and a pool is written to in the background."""

Generate = Callable[[list], dict]


class Failed(Exception):
    """The sweep can't go on; the message says why."""


def fetch(url: str, method: str = "GET") -> str:
    request = urllib.request.Request(url, method=method)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=ANSWER_SECONDS
        ) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        raise Failed(f"{url} answered {error.code}") from error
    except OSError as error:
        raise Failed(f"{url} does not answer: {error}") from error


def counted(plan: dict[str, Any]) -> str:
    """Return the lines of the metrics that the plan names."""
    lines = fetch(f"{plan['url']}/metrics").splitlines()
    return "\n".join(line for line in lines if line.startswith(tuple(plan["metrics"])))


def settled(plan: dict[str, Any]) -> str:
    """Return the counters when they no longer move."""
    end, last = time.monotonic() + SETTLE_SECONDS, ""
    while True:
        seen = counted(plan)
        if seen == last or time.monotonic() > end:
            return seen
        last = seen
        time.sleep(0.3)


def can_reset(plan: dict[str, Any]) -> bool:
    """Return whether the instance empties all its caches when it is told to."""
    described = json.loads(fetch(f"{plan['url']}/openapi.json"))["paths"].get("/reset_prefix_cache")
    if described is None:
        return False
    known = {each.get("name") for each in described["post"].get("parameters", [])}
    return not plan["pool"] or "reset_external" in known


def cache_config(plan: dict[str, Any]) -> list[str]:
    """Return the line of the metrics that tells how the instance's own cache is set up."""
    lines = fetch(f"{plan['url']}/metrics").splitlines()
    return [line for line in lines if line.startswith("vllm:cache_config_info")]


def known_options(serve: Any) -> tuple[Any, set[str]]:
    try:
        from vllm.utils.argparse_utils import FlexibleArgumentParser  # noqa: PLC0415
    except ImportError:
        from vllm.utils import FlexibleArgumentParser  # noqa: PLC0415
    parser = FlexibleArgumentParser()
    serve.add_cli_args(parser)
    return parser, set(parser._option_string_actions)


def generator() -> Generate:
    """Return vLLM's generator as a function: from options of "vllm bench serve" to what it has measured."""
    try:
        from vllm.benchmarks import serve  # noqa: PLC0415 the import takes seconds
    except ImportError as error:
        raise Failed(f"{sys.executable} has no load generator: {error}") from error
    parser, known = known_options(serve)

    def generate(options: list) -> dict:
        wanted = [each for each in options if each.split("=")[0] in known]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            return dict(serve.main(parser.parse_args(wanted)))

    return generate


def options(plan: dict[str, Any], documents: int, seed: int) -> list[str]:
    """Return the options of a round; one that an older generator lacks is left out."""
    return [
        f"--base-url={plan['url']}",
        "--endpoint=/v1/completions",
        f"--model={plan['model']}",
        f"--tokenizer={plan['tokenizer']}",
        "--dataset-name=random",
        f"--random-input-len={plan['document_tokens']}",
        f"--random-output-len={plan['output_tokens']}",
        "--random-range-ratio=0",
        f"--num-prompts={documents}",
        f"--max-concurrency={plan['concurrency']}",
        f"--seed={seed}",
        "--temperature=0",
        "--ignore-eos",
        "--ready-check-timeout-sec=0",
        "--disable-tqdm",
        "--save-detailed",
    ]


def one_round(
    plan: dict[str, Any], generate: Generate, documents: int, seed: int
) -> dict[str, Any]:
    before = settled(plan)
    seen = generate(options(plan, documents, seed))
    failed = [text.strip() for text in seen["errors"]]
    answered = [not text for text in failed]
    return {
        "seconds": round(seen["duration"], 3),
        "ttft_seconds": [round(each, 6) for each, good in zip(seen["ttfts"], answered) if good],
        "errors": [text.splitlines()[-1][:300] for text in failed if text],
        "before": before,
        "after": settled(plan),
    }


def one_step(plan: dict[str, Any], generate: Generate, documents: int, reset: bool) -> dict:
    # Other documents for each step, variant and run, so that nothing of them is in any cache.
    seed = zlib.crc32(f"{plan['seed']} {plan['variant']} {documents}".encode())
    if reset:
        external = "?reset_external=true" if plan["pool"] else ""
        fetch(f"{plan['url']}/reset_prefix_cache{external}", "POST")
    else:
        for number in range(plan["warmups"]):
            generate(options(plan, documents, (seed + 1 + number) % 2**32))
    rounds = []
    for number in range(plan["rounds"]):
        rounds.append(one_round(plan, generate, documents, seed))
        if not rounds[-1]["ttft_seconds"]:
            raise Failed(
                f"all {documents} requests of round {number + 1} failed: {rounds[-1]['errors'][0]}"
            )
    return {
        "key": plan["key"],
        "variant": plan["variant"],
        "documents": documents,
        "start": "reset" if reset else f"{plan['warmups']} passes discarded",
        "config": cache_config(plan),
        "master": master(plan),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "rounds": rounds,
    }


def master(plan: dict[str, Any]) -> list[str]:
    """Return what the master tells of the size of the pool; nothing when it can't be asked from here."""
    if not plan["master"]:
        return []
    try:
        lines = fetch(f"http://{plan['master']}/metrics").splitlines()
    except Failed:
        return []
    return [line for line in lines if line.startswith(("master_total_capacity_bytes", "segment_"))]


def append(path: Path, result: dict[str, Any]) -> None:
    with path.open("ab+") as handle:
        # A run that was killed, or that found the disk full, may have left half a line.
        if handle.tell():
            handle.seek(-1, os.SEEK_END)
        half = handle.read(1) not in (b"", b"\n")
        handle.write((b"\n" if half else b"") + json.dumps(result).encode() + b"\n")
        handle.flush()
        os.fsync(handle.fileno())


def main() -> None:
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    print("progress: 0 the load generator is loading", flush=True)
    try:
        generate = generator()
        if plan["needs_caching"] and 'enable_prefix_caching="False"' in "".join(cache_config(plan)):
            raise Failed("prefix caching is off: the instance's own cache keeps nothing")
        if plan["start"] == "reset" and not can_reset(plan):
            raise Failed(
                "the instance can not empty its caches: VLLM_SERVER_DEV_MODE is not set, or this vLLM is too old for it"
            )
        reset = plan["start"] in ("auto", "reset") and can_reset(plan)
        for number, documents in enumerate(plan["documents"]):
            print(f"progress: {number} {documents} documents", flush=True)
            append(Path(plan["results"]), one_step(plan, generate, documents, reset))
    except Failed as error:
        sys.exit(f"failed: {error}")
    print(f"progress: {len(plan['documents'])} done", flush=True)


if __name__ == "__main__":
    main()
