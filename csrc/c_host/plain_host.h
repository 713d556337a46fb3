// plain_host.h: the engine's host in a program without a framework of its own.
#pragma once

namespace oneop {

void install_plain_host();  // does nothing the second time

}  // namespace oneop
