// The official client for Node.js. A task as JSON in the first argument; what it got as one line of JSON on standard output.
//   chat, text   one stream of the route, read to its end
//   several      as many chat streams at once as `n` says
//   abort        a chat stream that is aborted after `n` chunks; the process then stays until its standard input ends, so
//                that only the abort can have ended the request
import OpenAI from "openai";

const { task, base_url, body, n } = JSON.parse(process.argv[2]);
const client = new OpenAI({ baseURL: base_url, apiKey: "none", maxRetries: 0, timeout: 60_000 });

async function collect(stream, textOf) {
  const got = { text: "", chunks: 0, finish_reasons: [], ids: [], usage: null };
  for await (const chunk of stream) {
    got.chunks += 1;
    got.ids = [...new Set([...got.ids, chunk.id])];
    got.usage = chunk.usage ?? got.usage;
    for (const choice of chunk.choices) {
      got.text += textOf(choice) ?? "";
      if (choice.finish_reason) got.finish_reasons.push(choice.finish_reason);
    }
  }
  return got;
}

async function chat() {
  const stream = await client.chat.completions.create({ ...body, stream: true, stream_options: { include_usage: true } });
  return collect(stream, (choice) => choice.delta.content);
}

async function text() {
  const stream = await client.completions.create({ ...body, stream: true, stream_options: { include_usage: true } });
  return collect(stream, (choice) => choice.text);
}

async function abort() {
  const controller = new AbortController();
  const stream = await client.chat.completions.create({ ...body, stream: true }, { signal: controller.signal });
  const got = { chunks: 0, finish_reasons: [] };
  for await (const chunk of stream) {
    got.chunks += 1;
    got.finish_reasons.push(...chunk.choices.map((choice) => choice.finish_reason).filter(Boolean));
    if (got.chunks === n) controller.abort();
  }
  return got;
}

const tasks = { chat, text, abort, several: () => Promise.all(Array.from({ length: n }, chat)) };
console.log(JSON.stringify(await tasks[task]()));
if (task === "abort") for await (const _ of process.stdin);
