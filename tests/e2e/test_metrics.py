"""/metrics (llama-server-api 1.4, P6.1, P6.5; F14, F24, F30)."""

import time

import pytest

from harness import prompt_tokens

pytestmark = pytest.mark.fake
LLAMA_SERVER = {
    "prompt_tokens_total": "counter", "prompt_tokens_cached_total": "counter", "prompt_seconds_total": "counter",
    "tokens_predicted_total": "counter", "tokens_predicted_seconds_total": "counter", "n_decode_total": "counter",
    "n_tokens_max": "counter", "spec_decode_num_draft_tokens_total": "counter",
    "spec_decode_num_accepted_tokens_total": "counter", "spec_decode_num_drafts_total": "counter",
    "prompt_tokens_seconds": "gauge", "predicted_tokens_seconds": "gauge", "requests_processing": "gauge",
    "requests_deferred": "gauge", "n_busy_slots_per_decode": "gauge",
}  # fmt: skip
PREEMPTION = {
    "n_preempt_total": "counter", "n_resume_total": "counter", "n_preempt_swap_total": "counter",
    "n_preempt_recompute_total": "counter", "n_recompute_tokens_total": "counter", "n_kv_full_total": "counter",
    "requests_preempted": "gauge", "preempt_ram_bytes": "gauge", "preempt_ram_bytes_max": "gauge",
    "kv_cache_usage_ratio": "gauge", "kv_cache_tokens": "gauge", "preempt_parked_seconds": "histogram",
    "preempt_park_seconds": "histogram", "preempt_restore_seconds": "histogram", "preempt_parks_per_request": "histogram",
}  # fmt: skip
REASONS = ["kv_full", "watermark", "priority", "explicit", "forced"]


def body(n_predict, seed=1, **more):
    return {"prompt": prompt_tokens(60, seed, fake=True), "n_predict": n_predict, "ignore_eos": True} | more


def test_names_and_types(servers):
    server = servers.fake("--metrics")
    reply = server.get("/metrics")
    assert reply.headers["content-type"] == "text/plain; version=0.0.4"
    assert int(reply.headers["process-start-time-unix"]) > 0
    metrics = server.metrics()
    for name, kind in (LLAMA_SERVER | PREEMPTION).items():
        assert metrics.types[f"llamacpp:{name}"] == kind
        assert metrics.helps[f"llamacpp:{name}"]
    for reason in REASONS:
        assert metrics.label("n_preempt_by_reason_total", "reason", reason) == 0
    for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"):
        assert metrics[f"vllm:{name}"] == 0


def test_nothing_but_zero_before_the_first_request(servers):
    """F30: no NaN (the parser refuses it), not even for the averages of nothing."""
    server = servers.fake("--metrics")
    for _ in range(2):
        assert set(server.metrics().samples.values()) == {0}


def test_they_count(servers):
    server = servers.fake("-c", 1024, "--parallel", 2, "--kv-unified", "--metrics")
    server.ok("/completion", body(10))
    server.ok("/completion", body(10))
    metrics = server.metrics()
    assert metrics["prompt_tokens_total"] + metrics["prompt_tokens_cached_total"] == 120
    assert metrics["prompt_tokens_cached_total"] == 59  # one is always evaluated again
    assert metrics["tokens_predicted_total"] == 20
    assert metrics["n_tokens_max"] == 69
    assert metrics["n_decode_total"] == 20
    assert metrics["n_busy_slots_per_decode"] == 1
    assert metrics["kv_cache_tokens"] == 69
    assert metrics["kv_cache_usage_ratio"] == pytest.approx(69 / 1024, rel=1e-4)
    assert metrics["preempt_parks_per_request_count"] == 2
    assert metrics["preempt_parks_per_request_sum"] == 0


def test_throughput_is_that_since_the_last_scrape(servers):
    server = servers.fake("--metrics", env={"KVALET_FAKE_DECODE_US": "1000"})
    server.ok("/completion", body(20))
    first = server.metrics()
    assert first["prompt_tokens_seconds"] > 0 and first["predicted_tokens_seconds"] > 0
    second = server.metrics()
    assert second["prompt_tokens_seconds"] == 0 and second["predicted_tokens_seconds"] == 0


def test_under_pressure_every_scrape_is_sound(servers):
    """F14, F24: counters only grow, no gauge is below zero, sums are sums, while parks come and go."""
    server = servers.fake("-c", 512, "--parallel", 4, "--kv-unified", "--metrics", env={"KVALET_FAKE_DECODE_US": "500"})
    streams = [server.stream("/completion", body(200, seed)) for seed in range(8)]
    last, parked_seen, deferred_seen = None, 0, 0
    while not all(stream.ended for stream in streams):
        metrics = server.metrics()
        for key, value in metrics.gauges().items():
            assert value >= 0, key
        for key, value in metrics.counters().items():
            assert last is None or value >= last.counters().get(key, 0), key
        assert metrics["n_preempt_swap_total"] + metrics["n_preempt_recompute_total"] == metrics["n_preempt_total"]
        assert metrics["n_preempt_by_reason_total"] == metrics["n_preempt_total"]
        assert metrics["requests_preempted"] == metrics["n_preempt_total"] - metrics["n_resume_total"]
        assert metrics["requests_processing"] + metrics["requests_preempted"] <= 4
        assert metrics["kv_cache_tokens"] <= 512 and metrics["kv_cache_usage_ratio"] <= 1
        assert metrics["preempt_ram_bytes"] <= metrics["preempt_ram_bytes_max"]
        assert (metrics["preempt_ram_bytes"] > 0) <= (metrics["requests_preempted"] > 0)
        assert metrics["vllm:num_requests_running"] == metrics["requests_processing"]
        assert metrics["vllm:num_requests_waiting"] == metrics["requests_deferred"] + metrics["requests_preempted"]
        parked_seen = max(parked_seen, metrics["requests_preempted"])
        deferred_seen = max(deferred_seen, metrics["requests_deferred"])
        last = metrics
        time.sleep(0.002)
    assert parked_seen > 0 and deferred_seen > 0
    for stream in streams:
        assert stream.final()["tokens_predicted"] == 200
    metrics = server.metrics()
    assert metrics["n_preempt_total"] == metrics["n_resume_total"] > 0
    assert metrics["preempt_parked_seconds_count"] == metrics["n_preempt_total"]
    assert metrics["preempt_parks_per_request_sum"] == metrics["n_preempt_total"]
    assert metrics["preempt_parks_per_request_count"] == 8
    assert metrics["requests_preempted"] == metrics["preempt_ram_bytes"] == 0


def test_the_gauge_of_parked_ones_is_what_slots_says(servers):
    """F24, with a state that stands still."""
    server = servers.fake("-c", 1024, "--parallel", 3, "--kv-unified", "--metrics", env={"KVALET_FAKE_DECODE_US": "500"})
    streams = [server.stream("/completion", body(300, seed)).wait_tokens(1) for seed in range(2)]
    for n, stream in enumerate(streams, start=1):
        assert server.post(f"/requests/{stream.headers['x-request-id']}/park").status == 200
        assert server.metrics()["requests_preempted"] == n
        assert sum(slot["is_preempted"] for slot in server.slots()) == n
        assert server.metrics()["requests_processing"] == 2 - n
    for stream in streams:
        assert server.post(f"/requests/{stream.headers['x-request-id']}/unpark").status == 200
    for stream in streams:
        assert stream.final()["tokens_predicted"] == 300
    assert server.metrics().label("n_preempt_by_reason_total", "reason", "explicit") == 2
