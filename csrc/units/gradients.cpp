// units/gradients.cpp: a unit of the core's build. What records and runs gradients, and static
// jobs.
#include "../autograd.cpp"
#include "../autograd_node.cpp"
#include "../forward_mode.cpp"
#include "../grad_blobs.cpp"
#include "../grad_collector.cpp"
#include "../grad_run.cpp"
#include "../gradient.cpp"
#include "../job.cpp"
#include "../job_call.cpp"
#include "../job_lock.cpp"
#include "../job_module.cpp"
