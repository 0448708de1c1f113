"""Random messages, a few of what `benchmarks/endpoint.py` sends by the hundred thousand."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.endpoint_fuzz import CLOSES, ENDS, SERVER, Message, Verdict, Voice, attack, messages
from tests.pipeline.endpoint.conftest import House
from tests.pipeline.endpoint.running import Client, dial, voice_url

SETTINGS = SERVER
DIALECT = Voice()


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(messages(DIALECT), max_size=25), st.booleans(), st.booleans(), ENDS)
def test_each_message_is_told_as_wrong_or_ends_in_a_documented_close(
    house: House, sent: list[Message], opens: bool, ends: bool, end: Message
) -> None:
    async def work(_: object) -> Verdict:
        verdict = Verdict()
        everything = [*sent, end] if ends else sent
        await attack(voice_url(house.server), DIALECT, everything, verdict, opens=opens)
        return verdict

    verdict = house.run(work)
    assert verdict.untold == verdict.dead == 0
    assert set(verdict.closes) <= CLOSES
    assert verdict.closes or not (ends and opens)


def test_and_nobody_else_was_hurt(house: House) -> None:
    async def work(_: object) -> dict[str, Any]:
        await house.idle()
        async with dial(house.server) as socket:
            client = Client(socket)
            await client.start()
            return await client.ask()

    assert house.run(work)["outcome"] == "answered"
