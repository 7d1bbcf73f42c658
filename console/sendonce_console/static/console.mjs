// The console's script. Every page works without it; with it figures stay fresh, times speak, texts can be copied, and
// keys work. Nothing of a page is kept: localStorage holds two settings of the reader, no data.

const html = document.documentElement;
const find = (id) => document.getElementById(id);
html.classList.add("scripted");

// --- settings of this browser -----------------------------------------------------------------------------------------

function remember(name, value) {
  try { localStorage.setItem(`sendonce.${name}`, value); } catch { /* a browser that keeps nothing */ }
}

function recall(name) {
  try { return localStorage.getItem(`sendonce.${name}`); } catch { return null; }
}

// --- times ------------------------------------------------------------------------------------------------------------

const STEPS = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [Infinity, "day", 86400]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const local = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

function ago(when, now) {
  const seconds = Math.round((when - now) / 1000);
  if (Math.abs(seconds) < 5) return "just now";
  const [, unit, size] = STEPS.find(([limit]) => Math.abs(seconds) < limit);
  return relative.format(Math.trunc(seconds / size), unit);
}

function tellTimes(root = document) {
  const now = Date.now();
  for (const time of root.querySelectorAll("time[data-relative], time[data-exact]")) {
    const when = new Date(time.dateTime);
    if (Number.isNaN(when.getTime())) continue;
    time.dataset.said ??= time.textContent;
    time.title = `${local.format(when)} · ${time.dataset.said}`;
    if ("relative" in time.dataset) {
      const text = ago(when.getTime(), now);
      if (time.textContent !== text) time.textContent = text;
    }
  }
}

// --- copying ----------------------------------------------------------------------------------------------------------

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  const label = button.getAttribute("aria-label");
  button.classList.add("done");
  button.setAttribute("aria-label", "Copied");
  setTimeout(() => {
    button.classList.remove("done");
    button.setAttribute("aria-label", label);
  }, 1500);
}

function offerCopies(root = document) {
  // only where the browser allows it: over https, or on this machine
  if (navigator.clipboard) for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = false;
}

// --- what stays fresh -------------------------------------------------------------------------------------------------
// Elements with data-live="SECONDS" are fetched anew with the page they are in (or data-live-src), and replaced by the
// element of the same id where it differs. One request at a time; none while nobody looks; slower while it fails.

const LONGEST_PAUSE = 60;
const live = { timer: 0, failures: 0, paused: false, ended: false };

function liveElements() {
  return [...document.querySelectorAll("[data-live][id]")];
}

function isTouched(element) {
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && element.contains(selection.anchorNode)) return true;
  const active = document.activeElement;
  return element.contains(active) && active.matches("input, select, textarea");
}

function pathTo(element, root) {
  const steps = [];
  for (let node = element; node !== root; node = node.parentElement) {
    steps.unshift([...node.parentElement.children].indexOf(node));
  }
  return steps;
}

function follow(steps, root) {
  return steps.reduce((node, step) => node?.children[step], root);
}

function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? pathTo(document.activeElement, old) : null;
  const open = [...old.querySelectorAll("details[open][id]")].map((one) => one.id);
  old.replaceChildren(...fresh.childNodes);
  for (const id of open) find(id)?.setAttribute("open", "");
  if (focused) follow(focused, old)?.focus({ preventScroll: true });
  tellTimes(old);
  offerCopies(old);
}

const lastSeen = new Map();

function take(page) {
  for (const old of liveElements()) {
    const fresh = page.getElementById(old.id);
    if (!fresh || isTouched(old)) continue;
    if (lastSeen.get(old.id) === fresh.innerHTML) continue;
    lastSeen.set(old.id, fresh.innerHTML);
    replace(old, fresh);
  }
}

function tell(text) {
  const place = find("offline");
  if (!place || place.textContent === text) return;
  place.textContent = text;
  place.hidden = text === "";
}

const ENDS = {
  401: "You are signed out. Reload the page to sign in again.",
  403: "You may no longer see this. Reload the page.",
  404: "What this page shows is no longer there. Reload the page.",
  410: "What this page shows is no longer there. Reload the page.",
};

async function refresh() {
  const wanted = [...new Set(liveElements().map((one) => one.dataset.liveSrc || location.href))];
  for (const address of wanted) {
    const signal = AbortSignal.timeout(15_000);
    const answer = await fetch(address, { headers: { Accept: "text/html" }, redirect: "manual", cache: "no-store", signal });
    if (answer.type === "opaqueredirect" || ENDS[answer.status]) {
      live.ended = true;
      tell(ENDS[answer.status] ?? ENDS[401]);
      return;
    }
    if (!answer.ok) throw Object.assign(new Error("no page"), { status: answer.status });
    take(new DOMParser().parseFromString(await answer.text(), "text/html"));
  }
  live.failures = 0;
  tell("");
}

function plan() {
  clearTimeout(live.timer);
  const every = Math.min(...liveElements().map((one) => Number(one.dataset.live) || 5));
  if (live.paused || live.ended || document.hidden || !Number.isFinite(every)) return;
  const seconds = Math.min(LONGEST_PAUSE, Math.max(1, every) * 2 ** live.failures);
  live.timer = setTimeout(turn, seconds * 1000);
}

const since = new Date();

async function turn() {
  try {
    await refresh();
    since.setTime(Date.now());
  } catch (error) {
    live.failures += 1;
    const when = since.toLocaleTimeString("en-GB");
    const answers = "The console answers, and can't show this now: reload the page to read why.";
    const what = error.status ? answers : "The console can't be reached.";
    tell(`${what} What you see is from ${when}; it is tried again by itself.`);
  }
  plan();
}

function pause(on) {
  live.paused = on;
  const button = find("live-switch");
  if (button) {
    button.setAttribute("aria-pressed", String(on));
    button.querySelector("span").textContent = on ? "Updates paused" : "Pause updates";
  }
  plan();
}

function startLive() {
  if (!liveElements().length) return;
  const button = find("live-switch");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => pause(!live.paused));
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? plan() : turn()));
  plan();
}

// --- keys -------------------------------------------------------------------------------------------------------------
// Single letters, so they can be switched off (WCAG 2.1.4); never in a field, never with Ctrl, Alt or Meta.

let pending = "";
let pendingTimer = 0;

function isTyping(target) {
  return target instanceof Element && (target.matches("input, select, textarea") || target.isContentEditable);
}

function step(by) {
  const links = [...document.querySelectorAll(".grid tbody tr")].map((row) => row.querySelector("a")).filter(Boolean);
  const at = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
}

const KEYS = {
  "/": () => find("find")?.focus(),
  "?": () => find("keys")?.showModal(),
  j: () => step(1),
  k: () => step(-1),
  u: () => pause(!live.paused),
};

function press(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  if (event.key === "Escape" && isTyping(event.target)) return event.target.blur();
  if (isTyping(event.target) || document.querySelector("dialog[open]") || recall("keys") === "off") return undefined;
  const key = pending ? `${pending} ${event.key}` : event.key;
  pending = "";
  clearTimeout(pendingTimer);
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!target && !KEYS[key]) {
    if (event.key === "g") {
      pending = "g";
      pendingTimer = setTimeout(() => { pending = ""; }, 1500);
    }
    return undefined;
  }
  event.preventDefault();
  return target ? target.click() : KEYS[key]();
}

function startKeys() {
  document.addEventListener("keydown", press);
  const open = find("keys-open");
  const on = find("keys-on");
  if (!open || !on) return;
  open.hidden = false;
  open.addEventListener("click", () => find("keys").showModal());
  on.checked = recall("keys") !== "off";
  on.addEventListener("change", () => remember("keys", on.checked ? "on" : "off"));
}

// --- forms ------------------------------------------------------------------------------------------------------------

// Each button of such a form fills a frame of its own; a form goes on only one way at a time.
async function fillFrames(form) {
  for (const button of form.querySelectorAll("button")) {
    const frame = document.getElementsByName(button.formTarget)[0];
    await new Promise((loaded) => {
      frame.addEventListener("load", loaded, { once: true });
      form.requestSubmit(button);
    });
  }
}

function startForms() {
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-once]")) return;
    // after the browser has read the form
    setTimeout(() => event.target.querySelectorAll("button").forEach((one) => { one.disabled = true; }));
  });
  addEventListener("pageshow", () => {
    document.querySelectorAll("form[data-once] button").forEach((one) => { one.disabled = false; });
  });
  for (const form of document.querySelectorAll("form[data-frames]")) fillFrames(form);
}

document.addEventListener("click", (event) => {
  const button = event.target instanceof Element && event.target.closest("button.copy");
  if (button) copy(button);
});
// as it came, before anything is changed in it
for (const element of liveElements()) lastSeen.set(element.id, element.innerHTML);
tellTimes();
offerCopies();
setInterval(() => tellTimes(), 5000);
startLive();
startKeys();
startForms();
