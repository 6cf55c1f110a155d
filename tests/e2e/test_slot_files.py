"""POST /slots/{id}?action=save|restore|erase (llama-server-api 1.3)."""

import os
import pathlib
import struct

import pytest

from harness import Server, binary, peer_binary, prompt_tokens, tiny_path

FLAGS = ["-c", 1024, "--parallel", 2, "--kv-unified", "--metrics"]
PROMPT = prompt_tokens(80)
BODY = {"prompt": PROMPT, "n_predict": 20, "temperature": 0, "ignore_eos": True, "return_tokens": True, "id_slot": 0}


def tiny(servers, folder):
    return servers.tiny(*FLAGS, "--slot-save-path", folder)


def action(server, slot, name, **body):
    return server.post(f"/slots/{slot}?action={name}", body)


def test_save_erase_restore(servers, tmp_path):
    server = tiny(servers, tmp_path)
    first = server.ok("/completion", BODY)
    saved = action(server, 0, "save", filename="a.bin").json()
    assert list(saved) == ["id_slot", "filename", "n_saved", "n_written", "timings"]
    assert (saved["id_slot"], saved["filename"], saved["n_saved"]) == (0, "a.bin", first["tokens_cached"])
    assert saved["n_written"] == (tmp_path / "a.bin").stat().st_size
    assert saved["timings"]["save_ms"] >= 0

    assert action(server, 0, "erase").json() == {"id_slot": 0, "n_erased": first["tokens_cached"]}
    assert server.metrics()["kv_cache_tokens"] == 0
    assert server.ok("/completion", BODY | {"id_slot": 1})["timings"]["cache_n"] == 0

    restored = action(server, 1, "restore", filename="a.bin").json()  # into another slot
    assert list(restored) == ["id_slot", "filename", "n_restored", "n_read", "timings"]
    assert (restored["n_restored"], restored["n_read"]) == (saved["n_saved"], saved["n_written"])
    longer = BODY | {"prompt": PROMPT + first["tokens"] + [300, 301], "id_slot": 1}
    again = server.ok("/completion", longer)
    assert again["timings"]["cache_n"] == first["tokens_cached"]


def test_a_file_outlives_the_server(servers, tmp_path):
    """And what is generated after a restore is what would have been generated."""
    one = tiny(servers, tmp_path)
    first = one.ok("/completion", BODY)
    assert action(one, 0, "save", filename="a.bin").status == 200
    longer = BODY | {"prompt": PROMPT + first["tokens"] + [300, 301]}
    wanted = one.ok("/completion", longer)
    two = tiny(servers, tmp_path)
    assert action(two, 0, "restore", filename="a.bin").json()["n_restored"] == first["tokens_cached"]
    got = two.ok("/completion", longer)
    assert got["tokens"] == wanted["tokens"]
    assert got["timings"]["cache_n"] == wanted["timings"]["cache_n"] == first["tokens_cached"]


def test_the_format_is_that_of_llama_server(servers, tmp_path):
    server = tiny(servers, tmp_path)
    first = server.ok("/completion", BODY)
    action(server, 0, "save", filename="a.bin")
    data = (tmp_path / "a.bin").read_bytes()
    magic, version, n_words = struct.unpack_from("<III", data)
    assert (magic, version) == (0x67677371, 3)
    words = struct.unpack_from(f"<{n_words}i", data, 12)
    n_tokens = first["tokens_cached"]
    assert words[:3] == (-1, 1, n_tokens)
    assert list(words[3 : 3 + n_tokens]) == (PROMPT + first["tokens"])[:n_tokens]
    assert struct.unpack_from("<I", data, 12 + 4 * n_words)[0] == 0xAF143CD8


def test_the_plain_form_is_read_too(servers, tmp_path):
    """A list of tokens without a head, as older files have it."""
    server = tiny(servers, tmp_path)
    n_tokens = server.ok("/completion", BODY)["tokens_cached"]
    action(server, 0, "save", filename="new.bin")
    data = (tmp_path / "new.bin").read_bytes()
    n_words = struct.unpack_from("<I", data, 8)[0]
    tokens, state = data[24 : 24 + 4 * n_tokens], data[12 + 4 * n_words :]
    (tmp_path / "old.bin").write_bytes(data[:8] + struct.pack("<I", n_tokens) + tokens + state)
    assert action(server, 1, "restore", filename="old.bin").json()["n_restored"] == n_tokens


BAD_NAMES = ["", ".", "..", "../x", "a/b", "a\\b", "/etc/passwd", "x" * 300, "a\x00b", "a\nb", "a:b", "a*b"]


@pytest.fixture(scope="module")
def shared(module_servers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("slots")
    server = module_servers.tiny(*FLAGS, "--slot-save-path", folder)
    server.folder = folder
    return server


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
@pytest.mark.parametrize("verb", ["save", "restore"])
def test_names_cannot_leave_the_folder(shared, verb, name):
    reply = action(shared, 0, verb, filename=name)
    assert (reply.status, reply.error["message"]) == (400, "Invalid filename")


@pytest.mark.parametrize("path", ["/slots/x?action=save", "/slots/-1?action=erase", "/slots/1.5?action=erase", "/slots/?action=erase"])
def test_bad_slot_ids(shared, path):
    assert shared.post(path, {"filename": "a"}).status in (400, 404)


def test_bad_actions(shared):
    assert shared.post("/slots/0").error["message"] == "Invalid action"
    assert shared.post("/slots/0?action=burn").error["message"] == "Invalid action"
    assert shared.post("/slots/0?action=save", {}).status in (400, 500)
    assert shared.post("/slots/0?action=save", {"filename": 5}).status in (400, 500)


def test_ids_wrap(shared):
    """llama-server-api 1.3: modulo the number of slots."""
    assert action(shared, 3, "erase").json()["id_slot"] == 1


def damaged(data: bytes) -> dict[str, bytes]:
    n_words = struct.unpack_from("<I", data, 8)[0]
    return {
        "empty": b"",
        "short": data[:10],
        "half": data[: len(data) // 2],
        "one byte less": data[:-1],
        "more tokens than cells": data[:8] + struct.pack("<I", 150) + data[24 : 28] * 150 + data[12 + 4 * n_words :],
        "another magic": b"\0\0\0\0" + data[4:],
        "another version": data[:4] + struct.pack("<I", 99) + data[8:],
        "too many words": data[:8] + struct.pack("<I", 2**31 - 1) + data[12:],
        "too many tokens": data[:20] + struct.pack("<I", 10**6) + data[24:],
        "negative tokens": data[:20] + struct.pack("<i", -5) + data[24:],
        "nonsense state": data[: 12 + 4 * n_words] + os.urandom(len(data) - 12 - 4 * n_words),
    }


def test_damaged_files(shared):
    """400, the slot is empty afterwards, and the server goes on."""
    shared.ok("/completion", BODY)
    action(shared, 0, "save", filename="good.bin")
    good = (shared.folder / "good.bin").read_bytes()
    for name, data in damaged(good).items():
        (shared.folder / "bad.bin").write_bytes(data)
        assert action(shared, 0, "restore", filename="good.bin").status == 200
        reply = action(shared, 0, "restore", filename="bad.bin")
        assert reply.status == 400, (name, reply)
        assert reply.error["message"].startswith("Unable to restore slot"), (name, reply)
        assert shared.slots()[0]["n_prompt_tokens"] == 0, name
    reply = action(shared, 0, "restore", filename="absent.bin")
    assert reply.status == 400 and reply.error["message"].startswith("Unable to restore slot")
    assert shared.ok("/completion", BODY)["tokens_predicted"] == 20


def test_cells_beyond_the_tokens_are_given_up(shared):
    """What the ledger does not count must not be held."""
    shared.ok("/completion", BODY)
    action(shared, 0, "save", filename="good.bin")
    good = (shared.folder / "good.bin").read_bytes()
    n_words = struct.unpack_from("<I", good, 8)[0]
    fewer = good[:8] + struct.pack("<I", 50) + good[24 : 24 + 200] + good[12 + 4 * n_words :]
    (shared.folder / "fewer.bin").write_bytes(fewer)
    assert action(shared, 0, "restore", filename="fewer.bin").json()["n_restored"] == 50
    assert shared.metrics()["kv_cache_tokens"] == 50
    assert shared.ok("/completion", BODY)["timings"]["cache_n"] == 50
    full = {"prompt": prompt_tokens(1000, 5), "n_predict": 100, "ignore_eos": True, "id_slot": 1}
    assert shared.ok("/completion", full)["tokens_cached"] == 1023  # nobody ran into a wall that the ledger does not know
    assert shared.metrics()["n_kv_full_total"] == 0


def test_a_file_of_another_model_is_refused(servers, shared, tmp_path):
    other = servers.tiny(*FLAGS, "--slot-save-path", shared.folder, "-ctk", "q8_0", "-ctv", "q8_0")
    other.ok("/completion", BODY)
    action(other, 0, "save", filename="q8.bin")
    reply = action(shared, 0, "restore", filename="q8.bin")
    assert reply.status == 400 and reply.error["message"].startswith("Unable to restore slot")


def test_a_file_larger_than_the_pool(servers, shared, tmp_path):
    shared.ok("/completion", BODY | {"n_predict": 300})
    action(shared, 0, "save", filename="large.bin")
    small = servers.tiny("-c", 256, "--parallel", 1, "--slot-save-path", shared.folder)
    reply = action(small, 0, "restore", filename="large.bin")
    assert reply.status == 400 and reply.error["message"].startswith("Unable to restore slot")
    assert small.ok("/completion", BODY)["tokens_predicted"] == 20


@pytest.mark.fake
def test_a_busy_slot_makes_the_order_wait(servers, tmp_path):
    server = servers.fake("-c", 512, "--parallel", 1, "--kv-unified", "--slot-save-path", tmp_path, env={"KVALET_FAKE_DECODE_US": "2000"})
    stream = server.stream("/completion", {"prompt": "x" * 50, "n_predict": 100, "ignore_eos": True}).wait_tokens(1)
    erased = action(server, 0, "erase").json()
    assert stream.ended or stream.wait_end()
    assert erased["n_erased"] == stream.final()["tokens_cached"]


@pytest.mark.skipif(not pathlib.Path(peer_binary()).exists(), reason="not in CI: llama-server is not there (make peer)")
@pytest.mark.parametrize("direction", ["from llama-server", "to llama-server"])
def test_files_cross_over(tmp_path, direction):
    """A slot saved by one is restored by the other, when both write the same version of the file."""
    programs = [peer_binary(), binary()] if direction.startswith("from") else [binary(), peer_binary()]
    running = []
    try:
        for i, program in enumerate(programs):
            command = [program, "-m", tiny_path(), *map(str, FLAGS), "--slot-save-path", str(tmp_path)]
            running.append(Server(command, tmp_path / f"server-{i}.log").wait_ready())
        writer, reader = running
        first = writer.ok("/completion", BODY)
        reader.ok("/completion", BODY)
        saved = action(writer, 0, "save", filename="a.bin").json()
        assert action(reader, 0, "save", filename="b.bin").status == 200
        versions = [struct.unpack_from("<I", (tmp_path / name).read_bytes(), 4)[0] for name in ("a.bin", "b.bin")]
        if versions[0] != versions[1]:
            pytest.skip(f"the two are of different ages: their files have the versions {versions}")
        restored = action(reader, 0, "restore", filename="a.bin").json()
        assert restored["n_restored"] == saved["n_saved"] == first["tokens_cached"]
        assert restored["n_read"] == saved["n_written"]
        longer = BODY | {"prompt": PROMPT + first["tokens"] + [300, 301]}
        ours, theirs = reader.ok("/completion", longer), writer.ok("/completion", longer)
        assert ours["timings"]["cache_n"] == theirs["timings"]["cache_n"] == first["tokens_cached"]
        assert ours["tokens"] == theirs["tokens"]
        assert [server.end() for server in running] == [0, 0]
    finally:
        for server in running:
            server.kill()
