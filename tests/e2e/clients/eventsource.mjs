// The `eventsource` package, made to POST by a fetch of its own. A task as JSON in the first argument: `url`, `body`. Prints
// as one line of JSON all data that its message events carried, and how often it opened a connection.
import { EventSource } from "eventsource";

const { url, body } = JSON.parse(process.argv[2]);
const got = { data: [], opened: 0, content_type: null };

async function post(target, options) {
  const headers = { ...options.headers, "Content-Type": "application/json" };
  const reply = await fetch(target, { ...options, method: "POST", headers, body: JSON.stringify({ ...body, stream: true }) });
  got.content_type = reply.headers.get("content-type");
  return reply;
}

// Without a close() at the end of the stream it would connect again: that is what an EventSource is for.
const isEnd = (data) => data === "[DONE]" || JSON.parse(data).stop === true;

await new Promise((resolve, reject) => {
  const source = new EventSource(url, { fetch: post });
  source.addEventListener("open", () => (got.opened += 1));
  source.addEventListener("error", (event) => {
    source.close();
    reject(new Error(`${event.code} ${event.message}`));
  });
  source.addEventListener("message", (event) => {
    got.data.push(event.data);
    if (!isEnd(event.data)) return;
    source.close();
    resolve();
  });
});
console.log(JSON.stringify(got));
