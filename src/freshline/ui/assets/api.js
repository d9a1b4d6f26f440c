// Everything that is asked of the server: views, actions, and the stream of events.

const KEY = "freshline-token";

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

const headers = () => (token.get() ? { Authorization: `Bearer ${token.get()}` } : {});

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// The stream of events, while there is one; and when the server said something last.
let stream = new AbortController();
let heardAt = null;

const heard = () => {
  heardAt = Date.now() / 1000;
};

// By how much the server's clock is ahead, to the second, as it was told last.
let aheadS = null;
const CLOCK_S = 5;

// An answer is dated when it is asked for: one that took longer seems to come from the past.
const PROMPT_MS = 2000;

// One of the two clocks was set: what is shown against now would be wrong by that.
function dated(response) {
  const found = Date.parse(response.headers.get("date")) / 1000 - Date.now() / 1000;
  if (Number.isNaN(found)) return;
  const isSet = aheadS !== null && Math.abs(found - aheadS) > CLOCK_S;
  if (aheadS === null || isSet) aheadS = found;
  if (isSet) dispatchEvent(new Event("clock"));
}

// Where no answer comes at all, the stream is opened again: it tells whether the server is there.
async function reached(path, options) {
  try {
    const asked = performance.now();
    const response = await fetch(path, options);
    heard();
    if (performance.now() - asked < PROMPT_MS) dated(response);
    return response;
  } catch {
    stream.abort();
    throw new Refused(0, "no-answer", "The server does not answer. The page comes back by itself.");
  }
}

async function answered(response) {
  const type = response.headers.get("content-type") || "";
  const body = type.includes("json") ? await response.json() : {};
  if (!response.ok) throw new Refused(response.status, body.error, body.message || response.statusText);
  return body;
}

export async function view(path) {
  return (await viewed(path)).data;
}

// A view's answer, for how many milliseconds the server will have no newer one, and whether it is
// older than the last thing that happened.
export async function viewed(path) {
  const response = await reached(path, { headers: headers() });
  return {
    data: await answered(response),
    kept: 1000 * Number(response.headers.get("freshline-kept-s")),
    outdated: response.headers.get("freshline-outdated") === "true",
  };
}

export async function act(table, action, body) {
  return answered(
    await reached(`/v1/tables/${encodeURIComponent(table)}/${action}`, {
      method: "POST",
      headers: { ...headers(), "Content-Type": "application/json" },
      body: body ? JSON.stringify(body) : "",
    }),
  );
}

// The server says something at least every 15 s; behind a network that is gone nobody says so.
const SILENT_MS = 45_000;

// A stream that ends sooner is no sign that all is well: the next one is not opened at once.
const STEADY_MS = 5_000;

// EventSource cannot send a token, so the stream is read by hand; it comes back by itself.
// `connected` gets whether there is one, null where the server lets nobody in without a token, and
// when the server said something last.
export function listen({ happened, connected }) {
  let stopped = false;
  let latest = 0;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const watch = setInterval(() => performance.now() - latest > SILENT_MS && stream.abort(), 5000);
  (async () => {
    let pause = 500;
    while (!stopped) {
      stream = new AbortController();
      const begun = performance.now();
      latest = begun;
      let refused = false;
      try {
        const response = await fetch("/v1/events", { headers: headers(), signal: stream.signal });
        heard();
        refused = response.status === 401;
        if (!response.ok) throw new Error(response.statusText);
        connected(true);
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          latest = performance.now();
          heard();
          rest += value;
          const blocks = rest.split("\n\n");
          rest = blocks.pop();
          for (const block of blocks) {
            const fields = Object.fromEntries(
              block.split("\n").map((line) => {
                const at = line.indexOf(": ");
                return [line.slice(0, at), line.slice(at + 2)];
              }),
            );
            if (fields.event) happened(fields.event, JSON.parse(fields.data));
          }
        }
      } catch (error) {
        if (stopped) return;
      }
      connected(refused ? null : false, heardAt);
      if (performance.now() - begun > STEADY_MS) pause = 500;
      await wait(pause);
      pause = Math.min(pause * 1.6, 5000);
    }
  })();
  return () => {
    stopped = true;
    clearInterval(watch);
    stream.abort();
  };
}
