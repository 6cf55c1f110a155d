#!/usr/bin/env python3
"""Makes tiny GGUF models with random weights for the tests: one for each kind of memory that libllama has.

    tiny-llama.gguf   attention (architecture llama); tiny-llama-q4_1.gguf and tiny-llama-f16.gguf are the same
                      numbers in other weight types
    tiny-swa.gguf     attention with sliding windows of 128 tokens (gemma3)
    tiny-mamba.gguf   recurrent (mamba)
    tiny-hybrid.gguf  recurrent and attention layers in turn (jamba)

They know nothing, but what they say depends strongly on all of their context, so that a cell that was lost or put in
the wrong place shows in the text. The vocabulary, with chat template and special tokens, is the beginning of that of
the default model. The same bytes come out each time: every tensor is drawn from a generator seeded by its name.
"""

import argparse
import hashlib
import pathlib

import gguf
import numpy as np

N_VOCAB = 2048
N_CTX_TRAIN = 8192
N_EMBD = 128
N_HEAD = 4
N_HEAD_KV = 2
HEAD_DIM = 32  # a multiple of 32, so that quantised caches work too
N_FF = 256
N_INNER = 2 * N_EMBD  # of a recurrent layer; the architectures want twice the width
N_STATE = 16
N_RANK = 32
N_CONV = 4
SLIDING_WINDOW = 128
CONTROL = 3  # the token type of special tokens in GGUF


class Vocabulary:
    """The first N_VOCAB tokens of another model's byte-pair vocabulary, and the merges that make them."""

    def __init__(self, model: pathlib.Path):
        fields = gguf.GGUFReader(model).fields

        def field(name):
            return fields[f"tokenizer.{name}"].contents()

        self.tokens = field("ggml.tokens")[:N_VOCAB]
        self.types = field("ggml.token_type")[:N_VOCAB]
        known = set(self.tokens)
        self.merges = [m for m in field("ggml.merges") if m.replace(" ", "") in known]
        self.pre = field("ggml.pre")
        self.bos = field("ggml.bos_token_id")
        self.eos = field("ggml.eos_token_id")
        self.template = field("chat_template")

    def write(self, out: gguf.GGUFWriter) -> None:
        out.add_tokenizer_model("gpt2")
        out.add_tokenizer_pre(self.pre)
        out.add_token_list(self.tokens)
        out.add_token_types(self.types)
        out.add_token_merges(self.merges)
        out.add_bos_token_id(self.bos)
        out.add_eos_token_id(self.eos)
        out.add_pad_token_id(self.eos)
        out.add_add_bos_token(False)
        out.add_add_space_prefix(False)
        out.add_chat_template(self.template)


class Model:
    """A GGUF file in the making. Q8_0, because with it a row of a batch does not depend on its neighbours in libllama's
    CPU kernels, which is not so with F16."""

    def __init__(self, name: str, arch: str, n_layer: int, into: pathlib.Path, vocabulary: Vocabulary, weights="Q8_0"):
        self.seed = name
        self.weights = gguf.GGMLQuantizationType[weights]
        self.vocabulary = vocabulary
        self.name = name if weights == "Q8_0" else f"{name}-{weights.lower()}"
        self.out = gguf.GGUFWriter(into / f"{self.name}.gguf", arch)
        self.out.add_name(self.name)
        self.out.add_file_type(gguf.LlamaFileType[f"MOSTLY_{weights}"])
        self.out.add_quantization_version(gguf.GGML_QUANT_VERSION)
        self.out.add_vocab_size(N_VOCAB)
        self.out.add_context_length(N_CTX_TRAIN)
        self.out.add_embedding_length(N_EMBD)
        self.out.add_block_count(n_layer)
        self.out.add_layer_norm_rms_eps(1e-5)
        vocabulary.write(self.out)

    def _normal(self, tensor: str, *shape: int) -> np.ndarray:
        digest = hashlib.sha256(f"{self.seed}/{tensor}".encode()).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:8], "little")))
        return generator.standard_normal(shape)

    def _add_weights(self, tensor: str, values: np.ndarray) -> None:
        data = gguf.quants.quantize(values.astype(np.float32), self.weights)
        self.out.add_tensor(f"{tensor}.weight", data, raw_dtype=self.weights)

    def matrix(self, tensor: str, n_out: int, n_in: int, gain: float = 1.0) -> None:
        """A linear map from n_in to n_out numbers that keeps their size, times the gain."""
        self._add_weights(tensor, self._normal(tensor, n_out, n_in) * (gain / np.sqrt(n_in)))

    def vector(self, tensor: str, values) -> None:
        self.out.add_tensor(tensor, np.asarray(values, dtype=np.float32))

    def norm(self, tensor: str, n: int, gain: float = 1.0) -> None:
        self.vector(f"{tensor}.weight", np.full(n, gain))

    def embedding(self, gain: float) -> None:
        self._add_weights("token_embd", self._normal("token_embd", N_VOCAB, N_EMBD) * gain)

    def head(self) -> None:
        """The output layer. Special tokens but the end of text are never likely: their rows are nought."""
        self.norm("output_norm", N_EMBD)
        weights = self._normal("output", N_VOCAB, N_EMBD) * (4.0 / np.sqrt(N_EMBD))
        for token, kind in enumerate(self.vocabulary.types):
            if kind == CONTROL and token != self.vocabulary.eos:
                weights[token] = 0
        self._add_weights("output", weights)

    def attention(self, block: str) -> None:
        self.matrix(f"{block}.attn_q", N_HEAD * HEAD_DIM, N_EMBD, 2.0)
        self.matrix(f"{block}.attn_k", N_HEAD_KV * HEAD_DIM, N_EMBD, 2.0)
        self.matrix(f"{block}.attn_v", N_HEAD_KV * HEAD_DIM, N_EMBD, 2.0)
        self.matrix(f"{block}.attn_output", N_EMBD, N_HEAD * HEAD_DIM, 2.0)

    def feed_forward(self, block: str) -> None:
        self.norm(f"{block}.ffn_norm", N_EMBD)
        self.matrix(f"{block}.ffn_gate", N_FF, N_EMBD)
        self.matrix(f"{block}.ffn_up", N_FF, N_EMBD)
        self.matrix(f"{block}.ffn_down", N_EMBD, N_FF)

    def mamba(self, block: str, normed: bool) -> None:
        """One selective state space layer; Jamba's norms of its parts when normed."""
        self.matrix(f"{block}.ssm_in", 2 * N_INNER, N_EMBD)
        self.vector(f"{block}.ssm_conv1d.weight", self._normal(f"{block}.ssm_conv1d", N_INNER, N_CONV) * 0.5)
        self.vector(f"{block}.ssm_conv1d.bias", np.zeros(N_INNER))
        self.matrix(f"{block}.ssm_x", N_RANK + 2 * N_STATE, N_INNER, 1.5)
        self.matrix(f"{block}.ssm_dt", N_INNER, N_RANK, 0.5)
        # Some channels forget at once, some after a thousand tokens.
        self.vector(f"{block}.ssm_dt.bias", np.linspace(-3.0, 0.0, N_INNER))
        self.vector(f"{block}.ssm_a", -np.tile(np.geomspace(0.01, 4.0, N_STATE), (N_INNER, 1)))
        self.vector(f"{block}.ssm_d", np.ones(N_INNER))
        self.matrix(f"{block}.ssm_out", N_EMBD, N_INNER, 2.0)
        if normed:
            self.norm(f"{block}.ssm_dt_norm", N_RANK)
            self.norm(f"{block}.ssm_b_norm", N_STATE)
            self.norm(f"{block}.ssm_c_norm", N_STATE)

    def add_attention_keys(self, n_head_kv) -> None:
        self.out.add_head_count(N_HEAD)
        self.out.add_head_count_kv(n_head_kv)
        self.out.add_key_length(HEAD_DIM)
        self.out.add_value_length(HEAD_DIM)
        self.out.add_feed_forward_length(N_FF)

    def add_mamba_keys(self) -> None:
        self.out.add_ssm_conv_kernel(N_CONV)
        self.out.add_ssm_inner_size(N_INNER)
        self.out.add_ssm_state_size(N_STATE)
        self.out.add_ssm_time_step_rank(N_RANK)

    def close(self) -> None:
        self.out.write_header_to_file()
        self.out.write_kv_data_to_file()
        self.out.write_tensors_to_file()
        self.out.close()
        print(f"made {self.name}")


def make_llama(into: pathlib.Path, vocabulary: Vocabulary, weights: str = "Q8_0") -> None:
    model = Model("tiny-llama", "llama", 2, into, vocabulary, weights)
    model.add_attention_keys(N_HEAD_KV)
    model.out.add_rope_dimension_count(HEAD_DIM)
    model.embedding(1.0)
    for layer in range(2):
        block = f"blk.{layer}"
        model.norm(f"{block}.attn_norm", N_EMBD)
        model.attention(block)
        model.feed_forward(block)
    model.head()
    model.close()


def make_swa(into: pathlib.Path, vocabulary: Vocabulary) -> None:
    n_layer = 6  # of which the sixth sees everything
    model = Model("tiny-swa", "gemma3", n_layer, into, vocabulary)
    model.add_attention_keys(N_HEAD_KV)
    model.out.add_sliding_window(SLIDING_WINDOW)
    model.out.add_rope_freq_base(1e6)
    model.embedding(1.0 / np.sqrt(N_EMBD))  # this architecture multiplies by the root
    for layer in range(n_layer):
        block = f"blk.{layer}"
        model.norm(f"{block}.attn_norm", N_EMBD)
        model.norm(f"{block}.attn_q_norm", HEAD_DIM, 3.0)
        model.norm(f"{block}.attn_k_norm", HEAD_DIM)
        model.norm(f"{block}.post_attention_norm", N_EMBD, 2.0)
        model.norm(f"{block}.post_ffw_norm", N_EMBD)
        model.attention(block)
        model.feed_forward(block)
    model.head()
    model.close()


def make_mamba(into: pathlib.Path, vocabulary: Vocabulary) -> None:
    model = Model("tiny-mamba", "mamba", 2, into, vocabulary)
    model.out.add_head_count(0)
    model.out.add_feed_forward_length(0)
    model.add_mamba_keys()
    model.embedding(1.0)
    for layer in range(2):
        model.norm(f"blk.{layer}.attn_norm", N_EMBD)
        model.mamba(f"blk.{layer}", normed=False)
    model.head()
    model.close()


def make_hybrid(into: pathlib.Path, vocabulary: Vocabulary) -> None:
    n_head_kv = [0, N_HEAD_KV, 0, N_HEAD_KV]  # nought: a recurrent layer
    model = Model("tiny-hybrid", "jamba", len(n_head_kv), into, vocabulary)
    model.add_attention_keys(n_head_kv)
    model.add_mamba_keys()
    model.embedding(1.0)
    for layer, heads in enumerate(n_head_kv):
        block = f"blk.{layer}"
        model.norm(f"{block}.attn_norm", N_EMBD)
        if heads:
            model.attention(block)
        else:
            model.mamba(block, normed=True)
        model.feed_forward(block)
    model.head()
    model.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabulary-of", type=pathlib.Path, required=True, help="GGUF to take the vocabulary from")
    parser.add_argument("--into", type=pathlib.Path, required=True, help="folder to write to")
    arguments = parser.parse_args()
    vocabulary = Vocabulary(arguments.vocabulary_of)
    for make in (make_llama, make_swa, make_mamba, make_hybrid):
        make(arguments.into, vocabulary)
    for weights in ("Q4_1", "F16"):
        make_llama(arguments.into, vocabulary, weights)


if __name__ == "__main__":
    main()
