"""Read the attention of a translation: python examples/attention.py [RUN "SENTENCE"]."""

import sys

import multihead
from multihead.data.batches import collate
from multihead.inspect.maps import record

run, sentence = sys.argv[1:] or ("runs/example", "zweiundvierzig")

translator = multihead.load(run, precision="fp32").with_models()
source, target = translator.source_tokenizer, translator.target_tokenizer
translation = translator.translate([sentence])[0].text
words, written = source.encode(sentence), target.encode(translation)
batch = collate([words], [written], pad_id=target.pad_id, bos_id=target.bos_id, eos_id=target.eos_id)

columns = [source.decode([token]) for token in words] + ["</s>"]
last = [layer for layer in record(translator.models[0], batch) if layer.kind == "cross"][-1]
weights = last.sentence(0).mean(axis=0)  # mean of the heads; rows are the tokens written
for token, row in zip([*written, target.eos_id], weights, strict=True):
    attended = ", ".join(f"{column} {weight:.2f}" for column, weight in zip(columns, row, strict=True))
    print(f"{target.decode([token]) or '</s>'}: {attended}")
