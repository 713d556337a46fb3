"""An op in a model of transformers, and in a module that Lightning trains. What is not installed is left out."""

import importlib.util
import tempfile

import numpy as np
import torch
from torch import nn

import oneop

swish = oneop.define("trainers_swish(Tensor x, *, float beta=1.0) -> Tensor y", infer="elementwise")


@swish.register_kernel("cpu")
def kernel(x, beta):
    return x * (1 + np.tanh(x.dtype.type(beta / 2) * x)) / 2


@swish.register_grad
def grad(ctx, dy):
    s = torch.sigmoid(ctx.beta * ctx.x)
    return dy * (s + ctx.beta * ctx.x * s * (1 - s))


class Swish(nn.Module):
    def forward(self, x):
        return swish(x)


def with_transformers():
    # [transformers
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=16,
    )  # fmt: skip
    torch.manual_seed(0)
    model = LlamaForCausalLM(config)
    tokens = torch.randint(0, 32, (2, 8))
    expected = model(tokens, labels=tokens).loss

    for layer in model.model.layers:
        layer.mlp.act_fn = Swish()  # it was nn.SiLU, which is swish with beta = 1
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    # transformers]
    torch.testing.assert_close(loss, expected)
    return f"loss {loss.item():.4f}, as with nn.SiLU"


def with_lightning():
    # [lightning
    import lightning

    class Regression(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = nn.Sequential(nn.Linear(4, 16), Swish(), nn.Linear(16, 1))

        def training_step(self, batch, index):
            x, y = batch
            return nn.functional.mse_loss(self.model(x), y)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    torch.manual_seed(0)
    x = torch.randn(64, 4)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True)), batch_size=16)
    module = Regression()
    trainer = lightning.Trainer(
        max_epochs=5, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tempfile.gettempdir(),
    )  # fmt: skip
    before = nn.functional.mse_loss(module.model(x), x.sum(1, keepdim=True))
    trainer.fit(module, data)
    after = nn.functional.mse_loss(module.model(x), x.sum(1, keepdim=True))
    # lightning]
    assert after < before / 2
    return f"loss {before.item():.2f} to {after.item():.2f}"


for name, way in (("transformers", with_transformers), ("lightning", with_lightning)):
    if importlib.util.find_spec(name) is None:
        print(f"{name}: not installed")
    else:
        print(f"{name} {__import__(name).__version__}: {way()}")
