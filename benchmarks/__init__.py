"""Every figure that voxring claims, as a program: `python -m benchmarks.NAME`.

ring.py          one token between two sleeping programs: channel.py, receiver.py
idle.py          what the programs cost while nobody speaks: usage.py
first_audio.py   how long after a question the answer is heard
tables.py        the results as docs/benchmarks.md shows them

metrics.py       what each metric means, and its bar
result.py        a result and its JSON
sample.py        percentiles
command.py       what the command lines share
"""
