"""Kernels on buffers that are watched, and calls in processes of their own.

guards.py         buffers between guard bands; running one kernel on them
unmapped.py       CPU memory that ends, or begins, where mapped memory does
cuda_unmapped.py  the same on the GPU
isolation.py      calls in a forked child
cuda_child.py     calls on the GPU in a new process
"""
