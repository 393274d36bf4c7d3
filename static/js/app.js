// The console without this file is whole; this adds words for what went wrong, keys and a theme switch.
"use strict";
const words = {
  403: "You may not do this. The page may be from before your rights changed: reload it.",
  404: "This is no longer here. Reload the page.",
  503: "The database is away for a moment. Nothing was lost; try again when the page is live.",
};
function toast(text, seconds = 12) {
  const place = document.querySelector(".ask:popover-open form") ?? document.getElementById("toasts");
  if ([...place.children].some((other) => other.dataset.text === text)) return;
  const box = Object.assign(document.createElement("div"), { className: "banner t-stopped", role: "alert", textContent: text });
  box.dataset.text = text;
  place.append(box);
  if (seconds) setTimeout(() => box.remove(), seconds * 1000);
  else box.dataset.away = "yes";
}
function live(on, lost = "Connection lost, trying again") {
  const sign = document.getElementById("live");
  if (!sign || on !== sign.hasAttribute("data-lost")) return;
  sign.toggleAttribute("data-lost", !on);
  sign.textContent = on ? "Live" : lost;
}
document.addEventListener("htmx:responseError", (event) => {
  const status = event.detail.xhr.status;
  // Not done, and not lost: sent as a plain form, the server offers what was typed once more.
  if (status === 403 && event.target.matches("form")) return HTMLFormElement.prototype.submit.call(event.target);
  const over = event.target.hasAttribute("data-live") && (status === 403 || status === 404);
  if (over) event.target.dataset.over = "yes";
  live(status !== 503 && !over, over ? "No longer live: reload" : undefined);
  toast(words[status] || `The server answered with an error (${status}). Reload to see how it stands.`);
});
// A server that does not answer: what is typed stays, what was asked for comes once it is back, and nothing is sent by itself.
const missed = new Set();
let lost;
const answers = (door = document.body.dataset.alive) => fetch(door, { cache: "no-store", signal: AbortSignal.timeout(5000) }).then(({ status }) => status < 500, () => false);
function away(what) {
  live(false);
  if (what) toast(`${navigator.onLine ? "The server does not answer" : "You are offline"}. ${what}`, 0);
  lost ??= setInterval(async () => {
    if (document.hidden || !(await answers())) return;
    lost = clearInterval(lost);
    document.querySelectorAll("[data-away]").forEach((box) => box.remove());
    if (!document.querySelector("[data-over]")) live(true);
    missed.forEach((part) => part.isConnected && htmx.ajax("GET", part.getAttribute("hx-get"), { source: part }));
    missed.clear();
  }, 2000);
}
for (const failure of ["htmx:sendError", "htmx:timeout"]) document.addEventListener(failure, ({ target }) => {
  if (target.hasAttribute("data-live")) return away();
  if (target.hasAttribute("hx-get")) missed.add(target);
  away(target.hasAttribute("hx-get") ? "What you have asked for comes by itself once it is back." : "Ask again once the page is live.");
});
document.addEventListener("htmx:afterOnLoad", ({ detail }) => detail.successful && live(true));
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]:not([hx-get], [target])");
  if (!(lost && link) || event.button || event.ctrlKey || event.metaKey || event.shiftKey || link.origin !== location.origin || link.hash) return;
  event.preventDefault();
  if (await answers()) location.assign(link.href);
  else away("You are still on the same page: try the link again once it is live.");
});
// A page nobody looks at asks for nothing, and nothing moves under an open question, an open table or what somebody has begun to fill in.
const changed = (field) => (/checkbox|radio/.test(field.type) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);
document.addEventListener("input", ({ target }) => target.toggleAttribute("data-begun", changed(target)));
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!event.target.hasAttribute("data-live")) return;
  const busy = document.hidden || document.querySelector("[data-over], .ask:popover-open, #again, form[data-sent]");
  if (busy || event.target.querySelector("[data-begun], details.behind[open]")) event.preventDefault();
});
document.getElementById("search")?.addEventListener("toggle", (event) => event.target.q.focus());
// An expired sign-in answers a fragment with the whole sign-in page: go there instead.
document.addEventListener("htmx:beforeSwap", (event) => {
  // Nothing is swapped under a form that is on its way.
  if (event.target.hasAttribute("data-live") && document.querySelector("form[data-sent]")) event.detail.shouldSwap = false;
  const landed = new URL(event.detail.xhr.responseURL || location.href);
  const door = document.body.dataset.signIn;
  if (door && landed.pathname === door) {
    event.detail.shouldSwap = false;
    if (!document.querySelector("[data-begun]")) return location.assign(`${door}?next=${encodeURIComponent(location.pathname + location.search)}`);
    // Nobody who types is led away: what is sent now is kept, and offered again after the sign-in.
    event.target.dataset.over = "yes";
    live(false, "Signed out");
    toast("You are signed out. What you have typed is still here: send it, sign in, and it is offered to you again.");
  }
});
// The page that says "the database is away" comes back by itself.
const ready = document.body.dataset.ready;
if (ready) setInterval(async () => (await answers(ready)) && location.assign(location.href), 3000);
// One click is one request, and none to a server that does not answer: the browser's own page would cost what was typed.
// What brings a file leaves the page as it is, and may be asked for again.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.dataset.sent === "now" || form.hasAttribute("hx-post") || (form.method !== "post" && !lost)) return;
  event.preventDefault();
  if (form.dataset.sent) return;
  form.dataset.sent = "asking";
  const there = await answers();
  if (there) {
    form.dataset.sent = "now";
    form.requestSubmit(event.submitter);
    form.dataset.sent = "yes";
  } else away("Nothing was sent, and what you have typed is still here: send it again once the page is live.");
  setTimeout(() => delete form.dataset.sent, there && form.method === "post" && !("file" in form.dataset) ? 30000 : 0);
});
window.addEventListener("pageshow", () => document.querySelectorAll("form[data-sent]").forEach((form) => delete form.dataset.sent));
const theme = document.getElementById("theme");
if (theme) {
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    document.cookie = `theme=${root.dataset.theme}; path=/; max-age=31536000; samesite=lax`;
  });
}
// The list stands where its open entry is.
const open = document.querySelector(".queue .item[aria-current]");
if (open?.offsetParent) open.offsetParent.scrollTop = open.offsetTop - 200;
// One box for all boxes of its form.
document.addEventListener("change", (event) => {
  if (!event.target.matches("[data-all]")) return;
  event.target.form.querySelectorAll("tbody [type=checkbox]").forEach((box) => { box.checked = event.target.checked; });
});
document.querySelectorAll("[data-all]").forEach((box) => box.removeAttribute("hidden"));
// The key named on a control works it, unless somebody is typing or a dialogue is open.
document.addEventListener("keydown", (event) => {
  // For a moment after a dialogue has closed, the focus is still in its field, which nobody sees any more.
  const typing = event.target.closest("input, textarea, select")?.checkVisibility();
  const busy = typing || document.querySelector(".ask:popover-open");
  if (event.ctrlKey || event.metaKey || event.altKey || busy) return;
  const controls = document.querySelectorAll(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  const control = [...controls].find((one) => one.checkVisibility());
  if (!control) return;
  event.preventDefault();
  if (control.matches("input, .btn-main[type=submit]")) control.focus();
  else control.click();
});
// What a person has scrolled sideways stays so when its part of a live page is swapped.
const scrolled = new Map();
document.addEventListener("htmx:beforeSwap", () => {
  document.querySelectorAll("[data-keep]").forEach((box) => scrolled.set(box.id, box.scrollLeft));
});
document.addEventListener("htmx:afterSwap", () => {
  document.querySelectorAll("[data-keep]").forEach((box) => { box.scrollLeft = scrolled.get(box.id) ?? 0; });
});
