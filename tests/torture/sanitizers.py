"""Rounds whose core and libraries are compiled with a sanitizer of g++.

Python and torch are not instrumented. The thread sanitizer sees the locks that they take, the GIL among them, and not
their atomic operations, so races inside torch are suppressed. The address sanitizer sees every block that they get from
malloc; leaks are not reported, since Python leaves much behind at its end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUPPRESSIONS = Path(__file__).parent / "suppressions.txt"

#: A kernel with a fault that the sanitizer must report; otherwise what it does not report means nothing.
PLANTED = """
import threading, torch, oneop
oneop.define("planted(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
oneop.ops.planted.register_source("cpu", '''{body}''', header="static int calls = 0;")
def call():
    for _ in range(2000):
        oneop.ops.planted(torch.ones(100))
threads = [threading.Thread(target=call) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@dataclass(frozen=True)
class Sanitizer:
    """A sanitizer, the options it needs here, and the body of a kernel that it must object to."""

    name: str
    flags: str
    library: str
    options: str
    fault: str

    def environment(self, compiler: str) -> dict[str, str]:
        """Return the environment of a process that runs under it, once the core is built."""
        # libstdc++ too: Python does not need it, and the sanitizer looks for its functions when the program starts.
        files = [
            subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True).stdout.strip()
            for name in (self.library, "libstdc++.so.6")
        ]
        return {
            **self.build_environment(compiler),
            "LD_PRELOAD": ":".join(files),
            f"{self.name[0].upper()}SAN_OPTIONS": self.options,
            "PYTHONMALLOC": "malloc",  # each object is a block that the sanitizer knows
        }

    def build_environment(self, compiler: str) -> dict[str, str]:
        """Return the environment of a build, which has a cache of its own."""
        cache = Path(tempfile.gettempdir()) / f"oneop-{self.name}-sanitizer-{os.getuid()}"
        return {"CXX": f"{compiler} {self.flags}", "ONEOP_CACHE_DIR": str(cache)}


SANITIZERS = {
    "thread": Sanitizer(
        name="thread",
        flags="-fsanitize=thread -g1 -O1",
        library="libtsan.so",
        options=f"suppressions={SUPPRESSIONS} exitcode=66 history_size=4",
        fault="calls = calls + 1; for (int64_t i = 0; i < n; ++i) { y[i] = x[i] + calls; }",
    ),
    "address": Sanitizer(
        name="address",
        flags="-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -g1 -O1",
        library="libasan.so",
        options="detect_leaks=0 detect_odr_violation=0 exitcode=66",
        fault="for (int64_t i = 0; i <= n + 64; ++i) { y[i] = x[i % n] + calls; }",
    ),
}


def prepare(sanitizer: Sanitizer) -> None:
    """Build the core, and see that a planted fault is found; then this process starts rounds under the sanitizer.

    Raises `SystemExit` if the fault is not found.
    """
    compiler = os.environ.get("CXX", "g++")
    os.environ.update(sanitizer.build_environment(compiler))
    subprocess.run([sys.executable, "-m", "oneop._build.core"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    os.environ.update(sanitizer.environment(compiler))
    planted = PLANTED.format(body=sanitizer.fault)
    result = subprocess.run([sys.executable, "-c", planted], cwd=ROOT, capture_output=True, text=True)
    if "Sanitizer: " not in result.stderr:
        raise SystemExit(f"the {sanitizer.name} sanitizer does not see a planted fault\n{result.stderr[-2000:]}")
    print(f"the {sanitizer.name} sanitizer sees a planted fault", flush=True)
