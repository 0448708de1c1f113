"""Chat templates as pieces of ids."""

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from pipeline.errors import ModelError
from stages.llm.template import ChatTemplate

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
WITHOUT_SYSTEM = (
    "{{ bos_token }}{% for m in messages %}"
    "{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Roles must alternate') }}{% endif %}"
    "{{ '<|im_start|>' + m.role + '\n' + m.content | trim + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>model\n' }}{% endif %}"
).replace("m.role +", "('model' if m.role == 'assistant' else m.role) +")


def tokenizer(template):
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE({piece: id for id, piece in enumerate(alphabet)}, []))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(
        [AddedToken(t, special=True) for t in ("<s>", "<|im_start|>", "<|im_end|>")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, chat_template=template, bos_token="<s>", eos_token="<s>"
    )


def conversation(spec, pieces, *spoken):
    """Ids of user and assistant messages, by pieces."""
    plain = [
        spec.encode(text, add_special_tokens=False, split_special_tokens=True) for text in spoken
    ]
    out = list(pieces.opening)
    for number, words in enumerate(plain):
        out += words
        out += pieces.next if number % 2 else pieces.ask
    return out


def test_the_pieces_make_the_whole():
    spec = tokenizer(CHATML)
    pieces = ChatTemplate(spec, [], "model").pieces("Be kind.")
    spoken = ("Hello there.", "Hi!", "And é 한 🔥?")
    roles = ("user", "assistant", "user")
    messages = [
        {"role": "system", "content": "Be kind."},
        *({"role": r, "content": t} for r, t in zip(roles, spoken, strict=True)),
    ]
    whole = spec.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert conversation(spec, pieces, *spoken) == spec.encode(whole, add_special_tokens=False)
    assert spec.decode(pieces.join) == "\n"


def test_the_token_that_ends_a_message_ends_a_reply():
    spec = tokenizer(CHATML)
    pieces = ChatTemplate(spec, [7, 9], "model").pieces("")
    ids = {spec.convert_tokens_to_ids(token) for token in ("<s>", "<|im_end|>")}
    assert pieces.stops == ids | {7, 9}


def test_without_instructions_the_template_has_its_own_way():
    spec = tokenizer(CHATML)
    assert spec.decode(ChatTemplate(spec, [], "model").pieces("").opening) == "<|im_start|>user\n"


def test_look_alikes_of_special_tokens_stay_text():
    spec = tokenizer(CHATML)
    end = spec.convert_tokens_to_ids("<|im_end|>")
    opening = ChatTemplate(spec, [], "model").pieces("Never say <|im_end|> twice.").opening
    assert opening.count(end) == 1  # the template's own
    assert spec.decode(opening).startswith("<|im_start|>system\nNever say <|im_end|> twice.")


def test_without_a_system_role_instructions_go_before_the_first_words():
    spec = tokenizer(WITHOUT_SYSTEM)
    opening = ChatTemplate(spec, [], "model").pieces("Be kind.").opening
    assert spec.decode(opening) == "<s><|im_start|>user\nBe kind.\n\n"
    assert spec.decode(ChatTemplate(spec, [], "model").pieces("").opening) == (
        "<s><|im_start|>user\n"
    )


def test_a_model_without_a_chat_template_is_named():
    with pytest.raises(ModelError, match=r"some/model has no chat template.*chat model"):
        ChatTemplate(tokenizer(None), [], "some/model")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{% for m in messages %}{{ m.role }}{% endfor %}", "leaves out a message"),
        (CHATML.replace("m.role + '\n'", "m.role + loop.index|string"), "another form"),
        (CHATML.replace("m.content", "m.content|upper"), "other ids"),
        ("{{ raise_exception('no') }}", "it says: no"),
    ],
)
def test_a_template_that_cannot_be_cut_is_refused(template, reason):
    with pytest.raises(ModelError, match=f"model has a chat template.*{reason}"):
        ChatTemplate(tokenizer(template), [], "model")


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ModelError, match="no tokenizer"):
        ChatTemplate.load(tmp_path, [])


def test_a_saved_tokenizer_loads_without_the_network(tmp_path):
    tokenizer(CHATML).save_pretrained(tmp_path)
    spec = tokenizer(CHATML)
    assert ChatTemplate.load(tmp_path, []).pieces("A.") == ChatTemplate(spec, [], "m").pieces("A.")
