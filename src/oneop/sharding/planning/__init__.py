"""Which signature a call on a mesh runs under: all candidates, what each costs, and the one chosen.

A mesh of several dimensions has a signature for each of them. Among the candidates that can run, the cheapest is
chosen; cost is what DTensor says of redistributing the inputs. Nothing here depends on the rank, so all ranks choose
the same, and the work does not grow with the number of devices.

    call.py        a call on a mesh, candidates, plans
    candidates.py  all candidates, and what each costs
    on_device.py   a call on one device
    choice.py      the cheapest candidate that can run
"""

from oneop.sharding.planning.call import Candidate as Candidate
from oneop.sharding.planning.call import Placements as Placements
from oneop.sharding.planning.call import Plan as Plan
from oneop.sharding.planning.call import ShardedCall as ShardedCall
from oneop.sharding.planning.call import placements_text as placements_text
from oneop.sharding.planning.call import readable_attrs as readable_attrs
from oneop.sharding.planning.candidates import is_linear as is_linear
from oneop.sharding.planning.candidates import signatures_of as signatures_of
from oneop.sharding.planning.choice import make_plan as make_plan
from oneop.sharding.planning.choice import refuse_means as refuse_means
from oneop.sharding.planning.on_device import LocalCall as LocalCall
from oneop.sharding.planning.on_device import infers as infers
from oneop.sharding.planning.on_device import local_call as local_call
