"""What these tests share: own registries for each test, and ranks that run all cases of cases/ once."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import sharded_cpp
import torch
from filelock import FileLock

from oneop.registry import isolated
from quick_python import command

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def own_registry():
    torch.manual_seed(0)
    with isolated():
        yield


def run_ranks(folder, world, meshes, is_slow):
    """Start the ranks, wait, and return {mesh-case: [what came of it on each rank]}; nothing where all is well."""
    sharded_cpp.load()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE)])}
    environment |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "SHARDED_SLOW": str(int(is_slow))}
    ranks = [
        subprocess.Popen(
            [*command(), HERE / "worker.py", str(rank), str(world), folder, *meshes],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    try:
        said = [rank.communicate(timeout=900)[0] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    results = {}
    for rank in range(world):
        file = Path(folder, f"{rank}.json")
        assert file.exists(), f"rank {rank} of {world}:\n{said[rank][-4000:]}"
        for name, problem in json.loads(file.read_text()).items():
            results.setdefault(name, []).append(problem)
    return results


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """What came of the cases on so many ranks; they are started once, also where several processes run tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def get(world, meshes, is_slow):
        file = shared / f"ranks{world}-{is_slow}.json"
        with FileLock(f"{file}.lock"):
            if not file.exists():
                try:
                    results = run_ranks(tmp_path_factory.mktemp(f"ranks{world}"), world, meshes, is_slow)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    results = {"": str(error)}  # kept as well: ranks that hang are waited for once, not by every test
                file.write_text(json.dumps(results))
        results = json.loads(file.read_text())
        assert "" not in results, results[""]
        return results

    return get
