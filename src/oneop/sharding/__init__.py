"""Ops on many devices: SBP signatures as DTensor strategies.

Collectives, meshes and process groups are torch's.

    dtensor.py   the adapter: what of DTensor is not public is used there and nowhere else
    planning.py  candidates for a call on a mesh, what each costs, and the one chosen
    local.py     what a call is on one device: shards, and attributes that hold sizes
    random.py    random ops: numbers of its own for each shard
    grads.py     where gradients live
    explain.py   explain_sharding
    explicit.py  warning or raising where tensors are moved unasked
    words.py     placement, global_tensor, to_global, to_local
    watch.py     starts the adapter once torch.distributed.tensor is imported
"""
