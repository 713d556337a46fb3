"""A job that goes on from a checkpoint does what one that was never stopped does, bit for bit."""

import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError
from quick_python import command

PROGRAM = """
import sys, time
import numpy as np
import torch
import oneop
from oneop import typing as tp

torch.set_num_threads(1)
torch.manual_seed(7)

@oneop.global_function(type="train")
def job(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
    w = oneop.get_variable("w", (4, 3), initializer=oneop.random_normal_initializer())
    loss = torch.tanh(x @ w).square().mean()
    oneop.optimizer.Adam(oneop.optimizer.CosineScheduler(0.1, 40)).minimize(loss)
    return loss

folder, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if first:
    oneop.checkpoint.load(folder)
for step in range(first, last):
    x = np.random.default_rng(step).standard_normal((8, 4), dtype=np.float32)
    print(step, job(x).tobytes().hex(), flush=True)
    if step == 9:
        oneop.checkpoint.save(folder)
        print("saved", flush=True)
time.sleep(60 if "hang" in sys.argv else 0)
"""


def test_resume_after_kill_is_bit_identical(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)

    def start(*args):
        return subprocess.Popen(
            [*command(), str(program), str(tmp_path / "ckpt"), *args], stdout=subprocess.PIPE, text=True
        )

    whole = start("0", "20").communicate()[0].splitlines()
    killed = start("0", "12", "hang")
    assert killed.stdout is not None
    for line in killed.stdout:
        if line == "saved\n":
            os.kill(killed.pid, signal.SIGKILL)
            break
    killed.wait()
    killed.stdout.close()
    resumed = start("10", "20").communicate()[0].splitlines()
    assert resumed == [line for line in whole if line != "saved"][10:]
    assert [path.name for path in (tmp_path / "ckpt").iterdir()] == ["oneop.safetensors"]


def make_job(size=3):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((size,))) -> tp.Numpy:
        return x + oneop.get_variable("w", (size,), initializer=oneop.ones_initializer())

    return job


def test_load_reaches_jobs_that_are_traced(tmp_path):
    job = make_job()
    job(np.zeros(3, np.float32))
    file = oneop.checkpoint.save(tmp_path / "w.safetensors")
    from oneop.jobs.training.session import current_session

    current_session().variables["w"].value.fill_(5)
    np.testing.assert_array_equal(job(np.zeros(3, np.float32)), [5, 5, 5])
    oneop.checkpoint.load(file)
    np.testing.assert_array_equal(job(np.zeros(3, np.float32)), [1, 1, 1])


def test_files_that_do_not_fit(tmp_path):
    with pytest.raises(ArgumentError, match="cannot read"):
        oneop.checkpoint.load(tmp_path)
    broken = Path(tmp_path / "broken.safetensors")
    broken.write_bytes(b"not a checkpoint")
    with pytest.raises(ArgumentError, match="cannot read"):
        oneop.checkpoint.load(broken)
    make_job(3)(np.zeros(3, np.float32))
    file = oneop.checkpoint.save(tmp_path / "w.safetensors")
    oneop.clear_default_session()
    make_job(4)(np.zeros(4, np.float32))
    with pytest.raises(ArgumentError, match=r'variable "w" is torch.float32 \(3,\) in the file'):
        oneop.checkpoint.load(file)
    assert torch.equal(
        dict(__import__("oneop.jobs.training.session", fromlist=["x"]).current_session().tensors())["variable/w"],
        torch.ones(4),
    )
