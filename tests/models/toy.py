"""A language model small enough to be known: its tokens, their probabilities after any others, and what fits a schema."""

import json
import math
import re
from functools import cache
from random import Random

SPECIAL = ("<|begin|>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>")
PIECES = ("[move]", "cooper", "ation", "coop", "de", "fect", "ion", " stag", " hare", " rock", " paper", " scissors")
VOCABULARY = (*SPECIAL, *PIECES, *map(chr, range(32, 127)), "\n", "?!")
"""Tokens by id; the last stands for all else."""
_TOKEN = re.compile("|".join(re.escape(each) for each in sorted(VOCABULARY, key=len, reverse=True)) + "|.", re.DOTALL)
END = VOCABULARY.index("<|end|>")


def tokens(text):
    """The ids of a text's tokens: the longest piece that fits, again and again."""
    known = {piece: place for place, piece in enumerate(VOCABULARY)}
    return [known.get(piece, len(VOCABULARY) - 1) for piece in _TOKEN.findall(text)]


def prompt(messages, answering=True):
    """A conversation as text, ready for an answer."""
    said = "".join(f"<|{each['role']}|>\n{each['content']}<|end|>\n" for each in messages)
    return f"<|begin|>{said}" + ("<|assistant|>\n" if answering else "")


@cache
def logprobs(after):
    """The log-probability of every token after the last few of some."""
    dice = Random(str(after[-5:]))
    logits = [dice.gauss(0, 2) for _ in VOCABULARY]
    whole = math.log(math.fsum(map(math.exp, logits)))
    return [logit - whole for logit in logits]


def logprob(before, answer):
    """The log-probability of a whole answer after some tokens, and of its end; token by token."""
    known, total = list(before), 0.0
    for token in [*tokens(answer), END]:
        total += logprobs(tuple(known[-5:]))[token]
        known.append(token)
    return total


def instance(schema, dice):
    """A value that fits a schema of agon.games.schemas, drawn at random."""
    if "anyOf" in schema:
        return instance(dice.choice(schema["anyOf"]), dice)
    if "enum" in schema:
        return dice.choice(schema["enum"])
    if schema["type"] == "object":
        return {name: instance(part, dice) for name, part in schema["properties"].items()}
    if schema["type"] == "integer":
        return dice.randint(schema["minimum"], schema["maximum"])
    if schema["type"] == "boolean":
        return dice.random() < 0.5
    if "pattern" in schema:
        numbers = ["0", "1", "0.25", "1.0", "7", "33.3", "1/8"]
        return dice.choice([each for each in numbers if re.search(schema["pattern"], each)])
    return dice.choice(["so", "ja", 'he said "no"', "猪"])[: schema.get("maxLength", 99)] or "x"


def schema_in(body):
    """The schema that a request of either protocol wants kept; None where it wants none."""
    if "response_format" in body:
        return body["response_format"]["json_schema"]["schema"]
    if "tools" in body:
        return body["tools"][0]["input_schema"]
    if "text" in body:
        return body["text"]["format"]["schema"]
    return body.get("output_config", {}).get("format", {}).get("schema")


def obeyed(body):
    """An answer that keeps the schema of a request; the same one to the same request."""
    return json.dumps(instance(schema_in(body), Random(json.dumps(body))), ensure_ascii=False)


def completion(body):
    """What llama.cpp's server answers at /completion to a request for one token that a bias makes certain."""
    if not body["n_predict"]:
        return {"content": "", "tokens_evaluated": len(body["prompt"])}
    after = logprobs(tuple(body["prompt"][-5:]))
    [[token, _]] = body["logit_bias"]
    told = [{"id": token, "token": VOCABULARY[token], "logprob": after[token], "top_logprobs": []}]
    return {"content": VOCABULARY[token], "tokens_evaluated": len(body["prompt"]), "completion_probabilities": told}


def first_tokens(body):
    """What a chat tells of the likeliest first tokens of an answer."""
    after = logprobs(tuple(tokens(prompt(body["messages"]))[-5:]))
    best = sorted(range(len(VOCABULARY)), key=lambda token: -after[token])[: body["top_logprobs"]]
    top = [{"token": VOCABULARY[token], "logprob": after[token], "bytes": []} for token in best]
    return {"content": [top[0] | {"top_logprobs": top}]}
