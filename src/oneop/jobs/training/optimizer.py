"""Optimizers of train jobs. An update is traced with the rest of the step, as torch's fused in-place ops.

All that an optimizer keeps belongs to one variable, Adam's step count too, as in torch. So it does not depend on which
job trains the variable, or how that job is called.

A loss of several elements counts as its mean: the gradients that reach the update are those of the sum, divided by the
number of elements, as OneFlow does. `watch_diff` shows them before that division.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from oneop.errors import ArgumentError
from oneop.jobs.context import require_context
from oneop.jobs.training.schedule import CosineScheduler as CosineScheduler
from oneop.jobs.training.schedule import PiecewiseConstantScheduler as PiecewiseConstantScheduler
from oneop.jobs.training.schedule import Schedule, as_schedule
from oneop.jobs.training.schedule import warmup as warmup

State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class GradClipping:
    """Scales all gradients so that their joint norm is at most `norm`."""

    norm: float


class grad_clipping:
    """Ways to limit gradients."""

    @staticmethod
    def by_global_norm(clip_norm: float) -> GradClipping:
        """Limit the norm of all gradients together."""
        return GradClipping(float(clip_norm))


class Optimizer:
    """What all optimizers share: the schedule, clipping, and `minimize`."""

    def __init__(
        self,
        lr_scheduler: Schedule | float,
        loss_scale_factor: float | None = None,
        grad_clipping: GradClipping | None = None,
    ) -> None:
        """Take a schedule or a constant rate. The loss is multiplied by the scale, gradients are divided by it."""
        self.schedule = as_schedule(lr_scheduler)
        self.loss_scale = float(loss_scale_factor) if loss_scale_factor else 1.0
        self._clipping = grad_clipping

    def minimize(self, loss: torch.Tensor | Sequence[torch.Tensor]) -> None:
        """Make the job update its trainable variables so that `loss` falls. Raises in a predict job."""
        context = require_context("optimizer.minimize")
        if not context.is_train:
            raise ArgumentError(
                f'job "{context.job}" is a predict job and updates nothing\n  make it global_function(type="train")'
            )
        if context.minimized is not None:
            raise ArgumentError(
                f'job "{context.job}": minimize was called twice\n  add the losses and minimize the sum'
            )
        losses = [loss] if isinstance(loss, torch.Tensor) else list(loss)
        total = losses[0]
        for other in losses[1:]:
            total = total + other
        context.minimized = (self, total)

    def make_state(self, value: torch.Tensor) -> State:
        """Return what must be kept for one variable."""
        raise NotImplementedError

    def update(
        self,
        values: list[torch.Tensor],
        grads: list[torch.Tensor],
        states: list[State],
        rate: torch.Tensor,
        *,
        is_fused: bool,
    ) -> None:
        """Change values and states in place; by torch's fused ops if `is_fused`, which not every compiler knows."""
        raise NotImplementedError

    def clip(self, grads: list[torch.Tensor]) -> list[torch.Tensor]:
        """Return the gradients, limited if the optimizer says so."""
        if self._clipping is None:
            return grads
        norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(grad) for grad in grads]))
        scale = torch.clamp(self._clipping.norm / (norm + 1e-6), max=1.0)
        return [grad * scale for grad in grads]


class SGD(Optimizer):
    """Gradient descent, with momentum if it is not 0."""

    def __init__(
        self,
        lr_scheduler: Schedule | float,
        loss_scale_factor: float | None = None,
        momentum: float = 0.9,
        grad_clipping: GradClipping | None = None,
        weight_decay: float = 0.0,
    ) -> None:
        """Take the schedule, the momentum, and a factor by which weights shrink."""
        super().__init__(lr_scheduler, loss_scale_factor, grad_clipping)
        self._momentum, self._weight_decay = float(momentum), float(weight_decay)

    def make_state(self, value: torch.Tensor) -> State:
        """Return the momentum, if there is one."""
        return {"momentum": torch.zeros_like(value)} if self._momentum else {}

    def update(
        self,
        values: list[torch.Tensor],
        grads: list[torch.Tensor],
        states: list[State],
        rate: torch.Tensor,
        *,
        is_fused: bool,
    ) -> None:
        """Step against the gradient."""
        if not is_fused:
            for value, grad, state in zip(values, grads, states, strict=True):
                step = grad + value * self._weight_decay if self._weight_decay else grad
                if self._momentum:
                    step = state["momentum"].mul_(self._momentum).add_(step)
                value.sub_(step * rate)
            return
        torch.ops.aten._fused_sgd_.tensor_lr(
            values,
            grads,
            [state["momentum"] for state in states] if self._momentum else [],
            weight_decay=self._weight_decay,
            momentum=self._momentum,
            lr=rate,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,  # a momentum of zeros gives the same first step
        )


class Adam(Optimizer):
    """Adam as torch has it, bias correction included."""

    _op = staticmethod(torch.ops.aten._fused_adam_.tensor_lr)

    def __init__(
        self,
        lr_scheduler: Schedule | float,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        do_bias_correction: bool = True,
        loss_scale_factor: float | None = None,
        grad_clipping: GradClipping | None = None,
        weight_decay: float = 0.0,
    ) -> None:
        """Take the schedule and Adam's constants. Bias correction, off by default OneFlow, is always on."""
        super().__init__(lr_scheduler, loss_scale_factor, grad_clipping)
        if not do_bias_correction:
            raise ArgumentError(
                f"{type(self).__name__}: do_bias_correction=False is not supported\n"
                "  leave it out: moments are always corrected"
            )
        self._betas, self._epsilon, self._weight_decay = (
            (float(beta1), float(beta2)),
            float(epsilon),
            float(weight_decay),
        )

    def make_state(self, value: torch.Tensor) -> State:
        """Return the two running means and the number of steps, for the bias correction."""
        step = torch.zeros((), dtype=torch.float32, device=value.device)
        return {"mean": torch.zeros_like(value), "square": torch.zeros_like(value), "step": step}

    def update(
        self,
        values: list[torch.Tensor],
        grads: list[torch.Tensor],
        states: list[State],
        rate: torch.Tensor,
        *,
        is_fused: bool,
    ) -> None:
        """Step along the corrected means."""
        steps = [state["step"] for state in states]
        if is_fused and all(step.device.type == "cpu" for step in steps):
            torch.ops.oneop_jobs.add_one_(steps)
        else:
            torch._foreach_add_(steps, 1)
        if not is_fused:
            for value, grad, state in zip(values, grads, states, strict=True):
                self._update_one(value, grad, state, rate)
            return
        self._op(
            values,
            grads,
            [state["mean"] for state in states],
            [state["square"] for state in states],
            [],
            steps,
            lr=rate,
            beta1=self._betas[0],
            beta2=self._betas[1],
            weight_decay=self._weight_decay,
            eps=self._epsilon,
            amsgrad=False,
            maximize=False,
        )

    def _decay(self, value: torch.Tensor, grad: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
        """Return the gradient with the weight decay in it."""
        return grad + value * self._weight_decay if self._weight_decay else grad

    def _update_one(self, value: torch.Tensor, grad: torch.Tensor, state: State, rate: torch.Tensor) -> None:
        """Do in single ops what the fused op does."""
        first, second = self._betas
        grad = self._decay(value, grad, rate)
        state["mean"].lerp_(grad, 1 - first)
        state["square"].mul_(second).addcmul_(grad, grad, value=1 - second)
        root = state["square"].sqrt() / (1 - second ** state["step"]).sqrt()
        value.sub_(rate / (1 - first ** state["step"]) * state["mean"] / (root + self._epsilon))


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    _op = staticmethod(torch.ops.aten._fused_adamw_.tensor_lr)

    def _decay(self, value: torch.Tensor, grad: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
        """Shrink the value and leave the gradient alone."""
        value.mul_(1 - rate * self._weight_decay)
        return grad
