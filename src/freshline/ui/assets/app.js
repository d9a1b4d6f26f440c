// The frame around every page: header, navigation, connection, theme, token; and which page.
import { html, render, useEffect, useState } from "/assets/ui.js";
import { listen, token, view } from "/assets/api.js";
import { clock } from "/assets/format.js";
import { change, now, state, useStore } from "/assets/store.js";
import { Link, Problem } from "/assets/parts.js";
import { Feeds } from "/assets/pages/feeds.js";
import { Graph } from "/assets/pages/graph.js";
import { Guarantees } from "/assets/pages/guarantees.js";
import { Reports } from "/assets/pages/reports.js";
import { Table } from "/assets/pages/table.js";
import { Tables } from "/assets/pages/tables.js";
import { Tracks } from "/assets/pages/tracks.js";
import { WhatIf } from "/assets/pages/what-if.js";

const PAGES = [
  ["/tables", "Tables", Tables, "tables"],
  ["/tracks", "Tracks", Tracks, "tracks"],
  ["/graph", "Graph", Graph, "graph"],
  ["/feeds", "Feeds", Feeds, "feeds"],
  ["/reports", "Reports", Reports, "reports"],
  ["/guarantees", "Guarantees", Guarantees, "guarantees"],
  ["/what-if", "What if", WhatIf, "what-if"],
];

// The table's name in an address; one that nobody's page wrote, like /tables/100%, is taken as it is.
function nameIn(path) {
  const text = path.slice("/tables/".length);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const THEMES = ["auto", "light", "dark"];

function useTheme() {
  const [theme, set] = useState(localStorage.getItem("freshline-theme") || "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStorage.setItem("freshline-theme", theme);
    change({ theme });
  }, [theme]);
  return [theme, () => set(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length])];
}

function RunPill({ failed }) {
  const { session, connected, run } = useStore();
  if (connected === false)
    return html`<span class="pill bad" data-connection="lost" role="status">✕ connection lost since ${clock(now(), now())}</span>`;
  if (session && session.run !== null)
    return html`<span class="pill" data-connection="recorded">run ${session.run}, recorded</span>`;
  if (!run && failed && failed.status === 401) return html`<span class="pill" data-connection="refused">a token is needed</span>`;
  if (!run) return html`<span class="pill" data-connection="connecting">…</span>`;
  if (run.running)
    return html`<span class="pill good" data-connection="live"><i class="beat" aria-hidden="true"></i>${run.ready ? "running" : "Spark is starting"}
      <span class="wide"> · ${run.tracks} ${run.tracks === 1 ? "track" : "tracks"} · ${run.policy}</span></span>`;
  return html`<span class="pill" data-connection="stopped">■ not running</span>`;
}

function TokenButton() {
  const { session } = useStore();
  const [open, set] = useState(false);
  if (session && !session.can_act && !session.wants_token) return null;
  const given = Boolean(token.get());
  const save = (event) => {
    event.preventDefault();
    token.set(event.target.elements.token.value.trim());
    location.reload();
  };
  if (!open)
    return html`<button type="button" class="icon" title=${given ? "Token given" : "Enter a token to act"} aria-label=${given ? "Token given: change it" : "Enter a token"}
      onClick=${() => set(true)}>${given ? "🔓" : "🔑"}</button>`;
  return html`<form class="token" onSubmit=${save}>
    <input name="token" type="password" placeholder="token (empty: forget it)" aria-label="Token" autocomplete="off" autofocus />
    <button type="submit" class="chip">OK</button>
  </form>`;
}

function App() {
  const store = useStore();
  const [theme, nextTheme] = useTheme();
  const [failed, setFailed] = useState(null);
  const path = store.path === "/" ? "/tables" : store.path.replace(/\/+$/, "");
  const name = path.startsWith("/tables/") ? nameIn(path) : null;
  const page = PAGES.find(([href]) => path === href) || PAGES[0];

  useEffect(() => {
    document.title = `${name || page[1]} · ${store.session ? store.session.project : "freshline"}`;
  }, [path, store.session]);

  // Where there is no room for all pages in a row, the row shows the one that is open.
  useEffect(() => {
    const row = document.querySelector("nav");
    const open = row.querySelector("[aria-current]");
    if (!open) return;
    const [outer, inner] = [row.getBoundingClientRect(), open.getBoundingClientRect()];
    row.scrollLeft += inner.left + inner.width / 2 - outer.left - outer.width / 2;
  }, [page, name]);

  useEffect(() => {
    let timer = null;
    // A burst of events is one look: the views are asked again at most once in a second and a half.
    const soon = () => {
      timer ||= setTimeout(() => {
        timer = null;
        change({ version: state.version + 1 });
      }, 1500);
    };
    // The answer to the last question counts: one that was asked before may come behind it.
    let asked = 0;
    let retry = null;
    const open = async () => {
      clearTimeout(retry);
      const mine = (asked += 1);
      try {
        const session = await view("/v1/ui/session");
        if (mine !== asked) return;
        setFailed(null);
        change({ session, run: session.now, offset: session.at_s - Date.now() / 1000 });
      } catch (error) {
        if (mine !== asked) return;
        if (error.status === 401) change({ session: null, run: null });
        else retry = setTimeout(open, 3000);
        setFailed(error.status ? error : null);
      }
    };
    open();
    const seen = () => document.hidden || change({ version: state.version + 1 });
    document.addEventListener("visibilitychange", seen);
    addEventListener("clock", open);
    return listen({
      happened: (kind) => {
        if (kind === "run") open();
        soon();
      },
      connected: (yes, heardAt = null) => {
        if (yes) open();
        if (state.connected === yes) return;
        if (yes === null) open(); // its answer says that a token is needed
        change({ connected: yes, lostAt: yes === false ? heardAt ?? Date.now() / 1000 : null, version: state.version + 1 });
      },
    });
  }, []);

  useEffect(() => {
    const key = (event) => {
      if (event.target.closest("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
      if (event.key === "/") {
        const search = document.querySelector("input[type=search]");
        if (search) {
          event.preventDefault();
          search.focus();
        }
      }
      const number = Number(event.key);
      if (number >= 1 && number <= PAGES.length) document.querySelectorAll("nav a")[number - 1].click();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);

  const Page = name !== null ? Table : page[2];
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header>
      <${Link} href="/tables" class="brand"><img src="/assets/icon.svg" alt="" width="26" height="26" /><b>${store.session ? store.session.project : "freshline"}</b></${Link}>
      <nav aria-label="Pages">${PAGES.map(
        ([href, title]) => html`<${Link} href=${href} aria-current=${(name === null ? path === href || (href === "/tables" && page[0] === href) : href === "/tables") ? "page" : null}>${title}</${Link}>`,
      )}</nav>
      <span class="tools"><${RunPill} failed=${failed} /><${TokenButton} />
        <button type="button" class="icon" aria-label=${`Theme: ${theme}`} title=${`Theme: ${theme}`} onClick=${nextTheme}>${{ auto: "◐", light: "☀", dark: "☾" }[theme]}</button>
      </span>
    </header>
    <main id="main" class=${store.connected === false ? "old" : ""} data-page=${name !== null ? "table" : page[3]} tabindex="-1">
      ${store.connected === false
        ? html`<div class="note bad" role="alert">The server does not answer. What you see is as of ${clock(now(), Date.now() / 1000)} UTC; the page comes back by itself.</div>`
        : null}
      ${failed ? html`<${Problem} error=${failed} />` : null}
      <${Page} key=${name || page[3]} name=${name} />
    </main>`;
}

render(html`<${App} />`, document.getElementById("app"));
