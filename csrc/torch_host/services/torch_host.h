// torch_host.h: the engine's host in a process that has torch.
#pragma once

namespace oneop {

void install_torch_host();

}  // namespace oneop
