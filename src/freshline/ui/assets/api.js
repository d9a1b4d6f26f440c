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
  const response = await fetch(path, { headers: headers() });
  return {
    data: await answered(response),
    kept: 1000 * Number(response.headers.get("freshline-kept-s")),
    outdated: response.headers.has("freshline-outdated"),
  };
}

export async function act(table, action, body) {
  return answered(
    await fetch(`/v1/tables/${encodeURIComponent(table)}/${action}`, {
      method: "POST",
      headers: { ...headers(), "Content-Type": "application/json" },
      body: body ? JSON.stringify(body) : "",
    }),
  );
}

// The server says something at least every 15 s; behind a network that is gone nobody says so.
const SILENT_MS = 45_000;

// EventSource cannot send a token, so the stream is read by hand; it comes back by itself.
export function listen({ happened, connected }) {
  let stopped = false;
  let control = null;
  let heard = 0;
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const watch = setInterval(() => performance.now() - heard > SILENT_MS && control.abort(), 5000);
  (async () => {
    let pause = 500;
    while (!stopped) {
      control = new AbortController();
      heard = performance.now();
      try {
        const response = await fetch("/v1/events", { headers: headers(), signal: control.signal });
        if (!response.ok) throw new Error(response.statusText);
        connected(true);
        pause = 500;
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          heard = performance.now();
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
      connected(false);
      await wait(pause);
      pause = Math.min(pause * 1.6, 5000);
    }
  })();
  return () => {
    stopped = true;
    clearInterval(watch);
    control.abort();
  };
}
