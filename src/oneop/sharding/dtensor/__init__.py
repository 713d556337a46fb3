"""The adapter to DTensor. What of DTensor is not public is used in this folder, self_test.py, local.py and symbolic.py.

private.py   what of DTensor is not public
calls.py     calls as the planner sees them
sizes.py     for which sizes a plan holds that is made while torch traces
running.py   calls that need more than DTensor does on each device
strategy.py  what DTensor asks, and under which key it remembers the answer
tensors.py   DTensors from parts, and what is said where one is moved unasked
"""

from oneop.sharding.dtensor.calls import call_of as call_of
from oneop.sharding.dtensor.calls import plan_call as plan_call
from oneop.sharding.dtensor.calls import whole_outputs as whole_outputs
from oneop.sharding.dtensor.sizes import keep_plan as keep_plan
from oneop.sharding.dtensor.strategy import register as register
from oneop.sharding.dtensor.tensors import lying as lying
from oneop.sharding.dtensor.tensors import moved as moved
from oneop.sharding.dtensor.tensors import observed_redistribution as observed_redistribution
from oneop.sharding.dtensor.tensors import wrapped as wrapped
from oneop.sharding.waiting import finish

finish()
