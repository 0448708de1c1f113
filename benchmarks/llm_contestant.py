"""One way to answer, in a program of its own: `python -m benchmarks.llm_contestant JSON`.

It answers the same turn again each time it is told to on standard input, and prints what that took.
What happens before the last word is over is not counted, except where the way leaves it for then.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MODEL = "bundle:smollm2-135m-instruct"
CONTEXT = 1024
HISTORY = 400  # ids of system prompt and earlier turns
UTTERANCE = 12  # ids of the user's words
LAST = 2  # of these, ids of the last word
COUNT = 5  # ids of the reply; speech begins at the fifth
TALK = (
    ("What do plants need to grow?", "Plants need light, water, air and a few minerals."),
    ("How do they get water?", "They take it up from the soil with the hairs of their roots."),
    ("And at night?", "At night they breathe, and grow with what they have made by day."),
    ("Do all of them have flowers?", "No. Ferns and mosses have spores, and firs have cones."),
    ("Which one is the oldest?", "A bristlecone pine in California is nearly five thousand."),
)
QUESTION = "Do you think that a tree like it will grow here?"


@dataclass(frozen=True)
class Contestant:
    """A way to answer.

    Attributes:
        name: of its figures.
        engine: "onnx", "genai" (onnxruntime-genai's own generator), "transformers", "stock"
            (transformers' `generate` with the whole prompt) or "cached" (the same, with the keys
            and values of the history kept by hand).
        quantization: of the engines under ONNX Runtime.
        threads: of the model.
        spin: threads that wait burn their cores.
        keeps: the history is in the cache.
        streams: so are the words before the last one.
    """

    name: str
    engine: str
    quantization: str = "none"
    threads: int = 2
    spin: bool = False
    keeps: bool = True
    streams: bool = True

    @property
    def json(self) -> str:
        """What `main` takes."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Trial:
    """One answer.

    Attributes:
        first_ms: from the end of speech to the first id.
        fifth_ms: to the fifth.
        cpu_ms: of all cores, to the fifth.
        ids: of the reply.
    """

    first_ms: float
    fifth_ms: float
    cpu_ms: float
    ids: list[int]


@dataclass(frozen=True)
class Prompt:
    """Ids of the turn: what was there, what is said, and what the template puts behind it."""

    history: list[int]
    words: list[int]
    ask: list[int]

    @property
    def whole(self) -> list[int]:
        """All that is there when the answer begins."""
        return [*self.history, *self.words, *self.ask]


Answer = Callable[[], Trial]


def main() -> None:
    """Load, say so, then answer once for each line."""
    out = sys.stdout
    sys.stdout = sys.stderr  # libraries print what they like
    answer = prepare(Contestant(**json.loads(sys.argv[1])))
    answer()
    answer()
    out.write("ready\n")
    out.flush()
    for _ in sys.stdin:
        out.write(json.dumps(asdict(answer())) + "\n")
        out.flush()


def prepare(contestant: Contestant) -> Answer:
    """Load the model; the result answers the turn once."""
    prompt = make_prompt()
    match contestant.engine:
        case "stock" | "cached":
            return _stock(contestant, prompt)
        case "genai":
            return _genai(contestant, prompt)
        case _:
            return _ours(contestant, prompt)


def make_prompt() -> Prompt:
    """A conversation of exactly `HISTORY` ids, and a question of exactly `UTTERANCE`."""
    from pipeline.models import prepare_onnx
    from stages.llm.chat_tokenizer import ChatTokenizer
    from stages.llm.template import ChatTemplate

    tokenizer = ChatTokenizer.load(prepare_onnx(MODEL, "none"))
    pieces = ChatTemplate(tokenizer, [], MODEL).pieces("You are a friendly voice assistant.")

    def words(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    turns: list[int] = []
    for question, reply in TALK * 4:
        turns += [*words(question), *pieces.ask, *words(reply), *pieces.next]
    history = [*pieces.opening, *turns][: HISTORY - len(pieces.next)] + list(pieces.next)
    said = words(QUESTION)
    assert (len(history), len(said)) == (HISTORY, UTTERANCE), (len(history), len(said))
    return Prompt(history, said, list(pieces.ask))


class Watch:
    """Times of the ids of one answer, from the end of speech on."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._start = time.perf_counter()
        self._times: list[float] = []
        self._ids: list[int] = []

    def take(self, id: int) -> None:
        """An id is there."""
        self._times.append(time.perf_counter() - self._start)
        self._ids.append(id)

    def trial(self) -> Trial:
        """What it took."""
        cpu_ms = (time.process_time() - self._cpu) * 1e3
        first, last = self._times[0] * 1e3, self._times[COUNT - 1] * 1e3
        return Trial(first, last, cpu_ms, self._ids[:COUNT])


def _ours(contestant: Contestant, prompt: Prompt) -> Answer:
    """An engine as the stage uses it: the conversation in its cache."""
    from stages.llm.conversation import Conversation
    from stages.llm.engine import warm_up
    from stages.llm.pieces import Pieces

    engine = _engine(contestant)
    warm_up(engine)
    known = prompt.history if contestant.keeps else prompt.history[:1]
    rest = prompt.history[len(known) :]
    form = Pieces(tuple(known), tuple(prompt.ask), (), (), frozenset())
    talk = Conversation(engine, 0, form, COUNT)
    talk.begin(1, 0)
    words = np.array([*rest, *prompt.words], np.int32)
    early = len(words) - LAST if contestant.streams else 0

    def catch_up() -> None:
        while talk.behind:
            talk.catch_up()

    def answer() -> Trial:
        talk.shorten(0)
        catch_up()
        for position in range(early):
            talk.hear(words[position : position + 1], position)
        catch_up()
        watch = Watch()
        talk.hear(words[early:], early, at_once=False)
        talk.ask(1)
        catch_up()
        while talk.answering:
            id = talk.step()
            assert id is not None
            watch.take(id)
        return watch.trial()

    return answer


def _engine(contestant: Contestant) -> Any:
    """Load it."""
    from pipeline.models import prepare_llm, prepare_onnx

    if contestant.engine == "onnx":
        from stages.llm import onnx_engine

        return onnx_engine.load_engine(
            prepare_onnx(MODEL, contestant.quantization),  # type: ignore[arg-type]
            context=CONTEXT,
            threads=contestant.threads,
            spin=contestant.spin,
        )
    from stages.llm import transformers_engine

    return transformers_engine.load_engine(
        prepare_llm(MODEL), context=CONTEXT, threads=contestant.threads
    )


def _genai(contestant: Contestant, prompt: Prompt) -> Answer:
    """The generator of onnxruntime-genai, which keeps the cache and rewinds."""
    import onnxruntime_genai as genai

    from pipeline.models import prepare_onnx

    folder = prepare_onnx(MODEL, contestant.quantization)  # type: ignore[arg-type]
    config = genai.Config(str(folder))
    session = {
        "intra_op_num_threads": contestant.threads,
        "session.intra_op.allow_spinning": "1" if contestant.spin else "0",
    }
    config.overlay(json.dumps({"model": {"decoder": {"session_options": session}}}))
    model = genai.Model(config)
    parameters = genai.GeneratorParams(model)
    parameters.set_search_options(max_length=CONTEXT)
    generator = genai.Generator(model, parameters)
    generator.append_tokens(_array(prompt.history))

    def answer() -> Trial:
        generator.rewind_to(HISTORY)
        for id in prompt.words[:-LAST]:
            generator.append_tokens(_array([id]))
        watch = Watch()
        generator.append_tokens(_array([*prompt.words[-LAST:], *prompt.ask]))
        for _ in range(COUNT):
            generator.generate_next_token()
            watch.take(int(generator.get_next_tokens()[0]))
        return watch.trial()

    return answer


def _stock(contestant: Contestant, prompt: Prompt) -> Answer:
    """The `generate` of transformers, as its documentation has it."""
    import copy

    import torch
    import transformers

    from pipeline.models import prepare_llm

    torch.set_num_threads(contestant.threads)
    model: Any = transformers.AutoModelForCausalLM.from_pretrained(
        prepare_llm(MODEL), dtype=torch.float32
    )
    model.eval()
    whole = torch.tensor([prompt.whole])
    cache = None
    if contestant.engine == "cached":
        with torch.inference_mode():
            cache = model(torch.tensor([prompt.history]), use_cache=True).past_key_values

    def answer() -> Trial:
        kept = copy.deepcopy(cache)
        watch = Watch()
        model.generate(
            whole,
            attention_mask=torch.ones_like(whole),
            past_key_values=kept,
            max_new_tokens=COUNT,
            do_sample=False,
            eos_token_id=None,
            pad_token_id=0,
            streamer=_Streamer(watch),
        )
        return watch.trial()

    return answer


class _Streamer:
    """What `generate` tells of each id; of the prompt too, first."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._prompted = False

    def put(self, ids: Any) -> None:
        """The prompt, then one id after the other."""
        if self._prompted:
            self._watch.take(int(ids[0]))
        self._prompted = True

    def end(self) -> None:
        """Nothing."""


def _array(ids: list[int]) -> NDArray[np.int32]:
    return np.array(ids, np.int32)


if __name__ == "__main__":
    main()
