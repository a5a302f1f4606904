"""The networks of wl-train at their tiny size, written with PyTorch's operations.

Each function takes the parameters and the number of a step (data differ from step to step) and returns the mean
loss. Parameter names are wl-train's. N samples a step.
"""
import math

import torch
import torch.nn.functional as F

from hashed import image, labels, masked, tokens

N = 4


class margin:
    """How near to its corner a relu came: the smallest |x| relative to the tensor's typical value. Where two
    programs round differently across a corner, a gradient jumps."""
    smallest = math.inf
    watched = False


def relu(x):
    if margin.watched:
        margin.smallest = min(margin.smallest, (x.abs().min() / x.pow(2).mean().sqrt()).item())
    return F.relu(x)


# ---- vision ----

def conv(P, name, x, out, kh, kw=None, stride=1, pad=None, bias=False):
    kw = kw or kh
    pad = (kh // 2, kw // 2) if pad is None else pad
    w = P(name + ".weight", out, x.shape[1], kh, kw)
    return F.conv2d(x, w, P(name + ".bias", out) if bias else None, stride, pad)


def norm(P, name, x, eps=1e-5):
    c = x.shape[1]
    return F.batch_norm(x, None, None, P(name + ".weight", c), P(name + ".bias", c), True, 0.1, eps)


def linear(P, name, x, out):
    return F.linear(x, P(name + ".weight", out, x.shape[-1]), P(name + ".bias", out))


def basic(P, p, x, ch, stride):
    y = relu(norm(P, p + "bn1", conv(P, p + "conv1", x, ch, 3, stride=stride)))
    y = norm(P, p + "bn2", conv(P, p + "conv2", y, ch, 3))
    return y, ch


def bottleneck(P, p, x, ch, stride):
    y = relu(norm(P, p + "bn1", conv(P, p + "conv1", x, ch, 1)))
    y = relu(norm(P, p + "bn2", conv(P, p + "conv2", y, ch, 3, stride=stride)))
    return norm(P, p + "bn3", conv(P, p + "conv3", y, 4 * ch, 1)), 4 * ch


def resnet(P, step, block, repeats, width=8, side=32):
    x = relu(norm(P, "bn1", conv(P, "conv1", image(step, N, 3, side, side), width, 3)))
    for s in range(4):
        for i in range(repeats[s]):
            p, stride = f"layer{s + 1}.{i}.", 2 if s and not i else 1
            y, out = block(P, p, x, width << s, stride)
            if stride != 1 or x.shape[1] != out:
                x = norm(P, p + "downsample.1", conv(P, p + "downsample.0", x, out, 1, stride=stride))
            x = relu(x + y)
    x = linear(P, "fc", x.mean((2, 3)), 10)
    return F.cross_entropy(x, labels(step, 10, N))


def resnet18(P, step, **size):
    return resnet(P, step, basic, (2, 2, 2, 2), **size)


def resnet50(P, step, **size):
    return resnet(P, step, bottleneck, (3, 4, 6, 3), **size)


def vgg16(P, step, width=8, side=32, hidden=64):
    x, layer = image(step, N, 3, side, side), 0
    for repeat, times in ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8)):
        for _ in range(repeat):
            x = relu(conv(P, f"features.{layer}", x, width * times, 3, bias=True))
            layer += 1
        x = F.max_pool2d(x, 2)
    x = x.flatten(1)
    x = relu(linear(P, "classifier.0", x, hidden))
    x = relu(linear(P, "classifier.1", x, hidden))
    return F.cross_entropy(linear(P, "classifier.2", x, 10), labels(step, 10, N))


def unet(P, step, width=4, side=32):
    def twice(name, x, out):
        x = relu(norm(P, name + ".bn1", conv(P, name + ".conv1", x, out, 3)))
        return relu(norm(P, name + ".bn2", conv(P, name + ".conv2", x, out, 3)))

    x, level = image(step, N, 3, side, side), []
    for i in range(4):
        level.append(twice(f"down{i}", x, width << i))
        x = F.max_pool2d(level[-1], 2)
    x = twice("bottom", x, width << 4)
    for i in (3, 2, 1, 0):
        out = width << i
        x = F.conv_transpose2d(x, P(f"up{i}.weight", x.shape[1], out, 2, 2), P(f"up{i}.bias", out), 2)
        x = twice(f"join{i}", torch.cat((level[i], x), 1), out)
    x = conv(P, "out", x, 4, 1, bias=True)
    return F.cross_entropy(x, labels(step, 4, N, side, side))


def inception_v3(P, step, width=8, side=107):
    def unit(name, x, out, kh, kw=None, stride=1, pad=(0, 0)):
        y = conv(P, name + ".conv", x, out * width // 64, kh, kw, stride, pad)
        return relu(norm(P, name + ".bn", y, 1e-3))

    def same(name, x, out, kh, kw=None):
        return unit(name, x, out, kh, kw, 1, (kh // 2, (kw or kh) // 2))

    def pooled(p, x, out):
        return same(p + "branch_pool", F.avg_pool2d(x, 3, 1, 1), out, 1)

    def a(p, x, pool):
        d = same(p + "branch3x3dbl_2", same(p + "branch3x3dbl_1", x, 64, 1), 96, 3)
        return torch.cat((same(p + "branch1x1", x, 64, 1),
                          same(p + "branch5x5_2", same(p + "branch5x5_1", x, 48, 1), 64, 5),
                          same(p + "branch3x3dbl_3", d, 96, 3), pooled(p, x, pool)), 1)

    def b(p, x):
        d = same(p + "branch3x3dbl_2", same(p + "branch3x3dbl_1", x, 64, 1), 96, 3)
        return torch.cat((unit(p + "branch3x3", x, 384, 3, stride=2), unit(p + "branch3x3dbl_3", d, 96, 3, stride=2),
                          F.max_pool2d(x, 3, 2)), 1)

    def c(p, x, c7):
        y = same(p + "branch7x7_2", same(p + "branch7x7_1", x, c7, 1), c7, 1, 7)
        d = same(p + "branch7x7dbl_2", same(p + "branch7x7dbl_1", x, c7, 1), c7, 7, 1)
        d = same(p + "branch7x7dbl_4", same(p + "branch7x7dbl_3", d, c7, 1, 7), c7, 7, 1)
        return torch.cat((same(p + "branch1x1", x, 192, 1), same(p + "branch7x7_3", y, 192, 7, 1),
                          same(p + "branch7x7dbl_5", d, 192, 1, 7), pooled(p, x, 192)), 1)

    def d(p, x):
        y = same(p + "branch7x7x3_2", same(p + "branch7x7x3_1", x, 192, 1), 192, 1, 7)
        y = same(p + "branch7x7x3_3", y, 192, 7, 1)
        return torch.cat((unit(p + "branch3x3_2", same(p + "branch3x3_1", x, 192, 1), 320, 3, stride=2),
                          unit(p + "branch7x7x3_4", y, 192, 3, stride=2), F.max_pool2d(x, 3, 2)), 1)

    def e(p, x):
        y = same(p + "branch3x3_1", x, 384, 1)
        z = same(p + "branch3x3dbl_2", same(p + "branch3x3dbl_1", x, 448, 1), 384, 3)
        return torch.cat((same(p + "branch1x1", x, 320, 1),
                          same(p + "branch3x3_2a", y, 384, 1, 3), same(p + "branch3x3_2b", y, 384, 3, 1),
                          same(p + "branch3x3dbl_3a", z, 384, 1, 3), same(p + "branch3x3dbl_3b", z, 384, 3, 1),
                          pooled(p, x, 192)), 1)

    x = unit("Conv2d_1a_3x3", image(step, N, 3, side, side), 32, 3, stride=2)
    x = same("Conv2d_2b_3x3", unit("Conv2d_2a_3x3", x, 32, 3), 64, 3)
    x = same("Conv2d_3b_1x1", F.max_pool2d(x, 3, 2), 80, 1)
    x = F.max_pool2d(unit("Conv2d_4a_3x3", x, 192, 3), 3, 2)
    for name, pool in (("Mixed_5b.", 32), ("Mixed_5c.", 64), ("Mixed_5d.", 64)):
        x = a(name, x, pool)
    x = b("Mixed_6a.", x)
    for name, c7 in (("Mixed_6b.", 128), ("Mixed_6c.", 160), ("Mixed_6d.", 160), ("Mixed_6e.", 192)):
        x = c(name, x, c7)
    x = e("Mixed_7c.", e("Mixed_7b.", d("Mixed_7a.", x)))
    return F.cross_entropy(linear(P, "fc", x.mean((2, 3)), 10), labels(step, 10, N))


# ---- language ----

HIDDEN, LAYERS, HEADS, FF, SEQ, VOCAB = 64, 2, 2, 256, 32, 64


def layer_norm(P, name, x, eps):
    e = x.shape[-1]
    return F.layer_norm(x, (e,), P(name + ".weight", e), P(name + ".bias", e), eps)


def attention(qkv, hidden_from):
    """hidden_from: True where row i may not look at column j"""
    n, t, e = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = (x.view(n, t, HEADS, e // HEADS).transpose(1, 2) for x in qkv.split(e, 2))
    s = q @ k.transpose(2, 3) / math.sqrt(e // HEADS)
    p = F.softmax(s.masked_fill(hidden_from, -math.inf), -1)
    return (p @ v).transpose(1, 2).reshape(n, t, e)


def bert_encoder(P, ids, mask, types):
    x = F.embedding(ids, P("embeddings.word.weight", VOCAB, HIDDEN))
    x = x + P("embeddings.position.weight", SEQ, HIDDEN)
    if types:
        x = x + P("embeddings.type.weight", 2, HIDDEN)[0]
    x = layer_norm(P, "embeddings.norm", x, 1e-12)
    for i in range(LAYERS):
        p = f"layer.{i}."
        y = attention(linear(P, p + "qkv", x, 3 * HIDDEN), mask[:, None, None, :] == 0)
        x = layer_norm(P, p + "norm1", x + linear(P, p + "out", y, HIDDEN), 1e-12)
        y = linear(P, p + "ff2", F.gelu(linear(P, p + "ff1", x, FF)), HIDDEN)
        x = layer_norm(P, p + "norm2", x + y, 1e-12)
    return x


def text(step):
    ids = tokens(step, VOCAB, N, SEQ)
    row = torch.arange(N)[:, None]
    mask = (torch.arange(SEQ)[None, :] < SEQ - 3 * (row % 4)).long()
    return ids, mask


def masked_lm(P, step, types):
    ids, mask = text(step)
    x = F.gelu(linear(P, "transform", bert_encoder(P, ids, mask, types), HIDDEN))
    x = layer_norm(P, "transform_norm", x, 1e-12)
    x = F.linear(x, P["embeddings.word.weight"], P("decoder.bias", VOCAB))
    return F.cross_entropy(x.flatten(0, 1), masked(step, ids, mask).flatten(), ignore_index=-1)


def bert(P, step):
    return masked_lm(P, step, True)


def distilbert(P, step):
    return masked_lm(P, step, False)


def bert_classification(P, step):
    ids, mask = text(step)
    x = torch.tanh(linear(P, "pooler", bert_encoder(P, ids, mask, True)[:, 0], HIDDEN))
    return F.cross_entropy(linear(P, "classifier", x, 2), labels(step, 2, N))


def gpt2(P, step):
    ids = tokens(step, VOCAB, N, SEQ)
    x = F.embedding(ids, P("wte.weight", VOCAB, HIDDEN)) + P("wpe.weight", SEQ, HIDDEN)
    future = torch.triu(torch.ones(SEQ, SEQ, dtype=torch.bool), 1)
    for i in range(LAYERS):
        p = f"h.{i}."
        y = attention(linear(P, p + "attn.c_attn", layer_norm(P, p + "ln_1", x, 1e-5), 3 * HIDDEN), future)
        x = x + linear(P, p + "attn.c_proj", y, HIDDEN)
        y = linear(P, p + "mlp.c_fc", layer_norm(P, p + "ln_2", x, 1e-5), FF)
        x = x + linear(P, p + "mlp.c_proj", F.gelu(y, approximate="tanh"), HIDDEN)
    x = F.linear(layer_norm(P, "ln_f", x, 1e-5), P["wte.weight"])
    return F.cross_entropy(x.flatten(0, 1), labels(step, VOCAB, N, SEQ).flatten())
