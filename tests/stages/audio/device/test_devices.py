"""Which device is meant, and how it is opened."""

import sys

import pytest

from pipeline.errors import AudioError
from stages.audio.convert import Encoding
from stages.audio.device import portaudio
from stages.audio.device.devices import Device, Side, channels_to_open, choose, choose_again
from stages.audio.device.options import DeviceOptions
from stages.audio.device.stream import can_be_one, frames_of, way

MIC = Device(0, "USB Microphone", "ALSA", 1, 0, 48_000)
BUILT_IN = Device(1, "Built-in Audio", "ALSA", 2, 2, 44_100, is_default_input=True)
HEADSET = Device(2, "Headset", "ALSA", 1, 2, 16_000, is_default_output=True)
MIXER = Device(3, "pulse", "ALSA", 32, 32, 44_100)
JACK_HEADSET = Device(4, "Headset", "JACK Audio Connection Kit", 1, 2, 48_000)
AGAIN = Device(5, "USB Audio (hw:3,0)", "ALSA", 1, 0, 48_000)
ALL = [MIC, BUILT_IN, HEADSET, MIXER, JACK_HEADSET]


@pytest.mark.parametrize(
    ("wanted", "side", "device"),
    [
        ("", Side.INPUT, BUILT_IN),
        ("", Side.OUTPUT, HEADSET),
        (0, Side.INPUT, MIC),
        ("0", Side.INPUT, MIC),
        ("usb", Side.INPUT, MIC),
        ("Built-in", Side.OUTPUT, BUILT_IN),
        ("headset", Side.INPUT, HEADSET),  # the interface that PortAudio lists first
    ],
)
def test_a_device_is_chosen_by_number_or_part_of_its_name(
    wanted: int | str, side: Side, device: Device
) -> None:
    assert choose(ALL, wanted, side) is device


@pytest.mark.parametrize(
    ("wanted", "side", "says"),
    [
        (0, Side.OUTPUT, "there is no loudspeaker called 0 .* 1 Built-in Audio; 2 Headset"),
        (9, Side.INPUT, "there is no microphone called 9 .* 0 USB Microphone"),
        ("webcam", Side.INPUT, "there is no microphone called 'webcam' .* 0 USB Microphone"),
        ("i", Side.INPUT, "2 microphones are called 'i' .* 0 USB Microphone; 1 Built-in Audio$"),
    ],
)
def test_what_cannot_be_told_is_an_error_with_the_list(
    wanted: int | str, side: Side, says: str
) -> None:
    with pytest.raises(AudioError, match=says.replace("(", r"\(")):
        choose([MIC, BUILT_IN, HEADSET], wanted, side)


def test_an_exact_name_is_not_ambiguous() -> None:
    other = Device(5, "Headset 2", "ALSA", 1, 2, 48_000)
    assert choose([HEADSET, other], "Headset", Side.OUTPUT) is HEADSET


@pytest.mark.parametrize(
    ("name", "wanted", "found"),
    [
        ("USB Microphone", "usb", MIC),
        ("USB Microphone", 7, MIC),
        ("USB Audio (hw:1,0)", "audio", AGAIN),  # plugged in again, it has another card's number
        ("Built-in Audio", "", BUILT_IN),
        ("Something else", "", BUILT_IN),  # today's default
    ],
)
def test_a_device_that_was_open_is_found_again(name: str, wanted: int | str, found: Device) -> None:
    assert choose_again([*ALL, AGAIN], name, wanted, Side.INPUT) is found


def test_a_device_that_was_open_is_not_replaced_by_whatever_has_its_number_now() -> None:
    with pytest.raises(AudioError, match="no microphone called 'Webcam'"):
        choose_again(ALL, "Webcam", 0, Side.INPUT)


def test_no_device_at_all() -> None:
    with pytest.raises(AudioError, match="no sound device that can be used"):
        choose([], "", Side.INPUT)
    with pytest.raises(AudioError, match="there is no loudspeaker"):
        choose([MIC], "", Side.OUTPUT)


def test_no_name_is_ever_replaced_by_the_default() -> None:
    with pytest.raises(AudioError):
        choose([BUILT_IN], "USB", Side.INPUT)


def test_a_device_is_opened_at_its_own_rate_with_its_own_channels() -> None:
    mine = way(BUILT_IN, Side.INPUT, DeviceOptions())
    assert (mine.format.rate, mine.format.channels) == (44_100, 2)
    assert mine.format.encoding is Encoding.S16
    array = Device(6, "array", "Core Audio", 4, 6, 96_000)
    assert channels_to_open(array, Side.INPUT) == 4
    assert channels_to_open(array, Side.OUTPUT) == 2
    assert way(array, Side.INPUT, DeviceOptions()).format.encoding is Encoding.F32
    assert channels_to_open(MIXER, Side.INPUT) == 1
    assert channels_to_open(MIXER, Side.OUTPUT) == 2


def test_one_stream_needs_one_device_and_one_rate() -> None:
    options = DeviceOptions()

    def both(heard: Device, played: Device) -> bool:
        return can_be_one(way(heard, Side.INPUT, options), way(played, Side.OUTPUT, options))

    assert both(HEADSET, HEADSET)
    assert not both(MIXER, MIXER)
    forced = DeviceOptions(one_stream=True)
    assert can_be_one(way(MIXER, Side.INPUT, forced), way(MIXER, Side.OUTPUT, forced))
    assert not both(MIC, HEADSET)
    assert not both(HEADSET, JACK_HEADSET)
    twin = Device(7, "Headset", "ALSA", 0, 2, 16_000)  # systems that list the sides apart
    assert both(HEADSET, twin)
    assert not both(HEADSET, Device(7, "Headset", "ALSA", 0, 2, 48_000))


def test_a_voice_goes_to_every_channel_and_is_clipped_not_wrapped() -> None:
    import numpy as np

    voice = np.array([0.0, 0.5, 1.5, -1.5], np.float32)
    stereo = way(BUILT_IN, Side.OUTPUT, DeviceOptions()).format
    samples = np.frombuffer(frames_of(voice, stereo), "<i2").reshape(-1, 2)
    assert samples[:, 0].tolist() == samples[:, 1].tolist() == [0, 16384, 32767, -32768]
    wide = way(BUILT_IN, Side.OUTPUT, DeviceOptions(sample_format="float32")).format
    floats = np.frombuffer(frames_of(voice, wide), "<f4").reshape(-1, 2)
    assert floats[:, 1].tolist() == [0.0, 0.5, 1.0, -1.0]


def test_without_the_package_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(AudioError, match=r"pip install 'voxring\[talk\]'"):
        portaudio.devices()


def test_nothing_but_these_commands_needs_portaudio(monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess

    code = "import pipeline.cli, stages.run, sys; sys.exit('sounddevice' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
