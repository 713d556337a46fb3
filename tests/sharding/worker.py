"""One rank: runs all cases on the given meshes and writes what came of each. Started by conftest.py.

SHARDED_CASES=text runs only cases whose name has the text. With SHARDED_SLOW=1 each does all that it can do.
"""

import datetime
import json
import os
import sys
import traceback
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", category=UserWarning, module="torch")


def main():
    rank, world, folder, *meshes = sys.argv[1:]
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{folder}/store",
        rank=int(rank),
        world_size=int(world),
        timeout=datetime.timedelta(seconds=300),
    )
    import cases
    from torch.distributed.device_mesh import init_device_mesh

    results = {}
    for text in meshes:
        mesh = init_device_mesh("cpu", tuple(int(size) for size in text.split("x")))
        for name, case in cases.CASES.items():
            if cases.is_due(case, text, cases.is_slow()) and os.environ.get("SHARDED_CASES", "") in name:
                torch.manual_seed(0)
                try:
                    case(mesh)
                    results[f"{text}-{name}"] = ""
                except Exception:
                    results[f"{text}-{name}"] = traceback.format_exc()
                dist.barrier()
    Path(folder, f"{rank}.json").write_text(json.dumps(results))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
