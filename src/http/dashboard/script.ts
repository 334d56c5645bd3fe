/**
 * The script of the dashboard's pages, as the browser gets it. It sends forms, shows times as the reader's clock does, and
 * follows what happens while somebody looks.
 *
 * It stands here as a text, and not as a function whose text is taken, since bundlers change the text of functions: some
 * call helpers in it that no browser has.
 */
export const script = `"use strict";
(() => {
  const root = document.body.dataset.root;
  const said = document.getElementById("said");
  const minute = 60000;

  /* Times */
  const units = [["day", 86400000], ["hour", 3600000], ["minute", 60000], ["second", 1000]];
  const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const ageOf = (date) => {
    const ms = date - Date.now();
    const [unit, size] = units.find(([, size]) => Math.abs(ms) >= size) ?? ["second", 1000];
    return relative.format(Math.trunc(ms / size), unit);
  };
  const showTimes = () => {
    for (const time of document.querySelectorAll("time")) {
      const date = new Date(time.dateTime);
      time.title ||= time.textContent;
      time.textContent = "age" in time.dataset ? ageOf(date) : exact.format(date);
    }
  };

  /* Regions that are replaced while somebody follows */
  const regions = new Map();
  const note = () => {
    regions.clear();
    for (const region of document.querySelectorAll("[data-live]")) regions.set(region.id, region.innerHTML);
  };
  const isBusy = (region) => {
    const { activeElement } = document;
    const isTyping = activeElement?.matches("input, textarea, select") && region.contains(activeElement);
    return isTyping || region.querySelector("form[data-dirty], form[aria-busy]") !== null;
  };
  const replace = (region, text) => {
    const open = [...region.querySelectorAll("details[open][id]")].map(({ id }) => id);
    const closed = [...region.querySelectorAll("details:not([open])[id]")].map(({ id }) => id);
    const focused = region.contains(document.activeElement) ? document.activeElement : undefined;
    const place = focused && { id: focused.id || focused.closest("[id]")?.id, tag: focused.tagName };
    region.innerHTML = text;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    for (const id of closed) document.getElementById(id)?.removeAttribute("open");
    if (!place?.id) return;
    const near = document.getElementById(place.id);
    const again = near?.tagName === place.tag ? near : near?.querySelector(place.tag);
    again?.focus({ preventScroll: true });
  };
  let news;
  const refresh = async ({ isForced = false } = {}) => {
    const response = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "manual" });
    if (response.type === "opaqueredirect") return location.reload();
    if (!response.ok) throw new Error("The server answered " + response.status + ".");
    const told = response.headers.get("x-layover-news");
    const hasNews = told !== news;
    news = told;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const region of document.querySelectorAll("[data-live]")) {
      const text = page.getElementById(region.id)?.innerHTML;
      if (text === undefined || text === regions.get(region.id) || (isBusy(region) && !isForced)) continue;
      replace(region, text);
      regions.set(region.id, text);
    }
    showTimes();
    return hasNews;
  };

  /* Following: it ends after 10 minutes without input, 5 without news, and in a hidden tab */
  const following = document.getElementById("following");
  const follow = document.getElementById("follow");
  const shortest = 2000;
  const longest = 15000;
  let lastInput = Date.now();
  let lastNews = Date.now();
  let pause = shortest;
  let timer;
  let isAsking = false;
  const tell = (text, canGoOn) => {
    if (following.textContent !== text) following.textContent = text;
    follow.hidden = !canGoOn;
  };
  const stop = (text) => {
    clearTimeout(timer);
    timer = undefined;
    tell(text, true);
  };
  const plan = () => {
    clearTimeout(timer);
    timer = setTimeout(look, pause);
  };
  const look = async () => {
    timer = undefined;
    if (document.hidden) return stop("Not following: this tab was hidden.");
    if (Date.now() - lastInput >= 10 * minute) return stop("Not following: nobody was here for 10 minutes.");
    if (Date.now() - lastNews >= 5 * minute) return stop("Not following: nothing happened for 5 minutes.");
    isAsking = true;
    try {
      if (await refresh()) {
        lastNews = Date.now();
        pause = shortest;
      } else pause = Math.min(longest, pause * 1.3);
      tell("Following what happens.", false);
    } catch (error) {
      pause = longest;
      tell("No answer (" + error.message + "). It is tried again.", false);
    } finally {
      isAsking = false;
    }
    if (!document.hidden) plan();
    else stop("Not following: this tab was hidden.");
  };
  const begin = () => {
    lastInput = lastNews = Date.now();
    pause = shortest;
    if (timer === undefined && !isAsking) void look();
  };
  if ("follows" in document.body.dataset) {
    follow.addEventListener("click", begin);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) stop("Not following: this tab was hidden.");
      else begin();
    });
    for (const event of ["pointermove", "pointerdown", "keydown", "wheel", "touchstart"])
      addEventListener(event, () => { lastInput = Date.now(); }, { passive: true });
    tell("Following what happens.", false);
    if (document.hidden) stop("Not following: this tab was hidden.");
    else plan();
  }

  /* Forms */
  const say = (text, isBad) => {
    said.textContent = text;
    said.className = text === "" ? "" : isBad ? "error" : "done";
    if (text !== "") said.scrollIntoView({ block: "nearest" });
  };
  const unmark = (form) => {
    for (const error of form.querySelectorAll(".wrong")) error.remove();
    for (const input of form.querySelectorAll("[aria-invalid]")) {
      input.removeAttribute("aria-invalid");
      input.removeAttribute("aria-errormessage");
    }
  };
  const mark = (form, errors) => {
    let first;
    for (const [name, text] of Object.entries(errors)) {
      const input = [...form.elements].find((element) => element.name === name);
      const error = document.createElement("p");
      error.className = "wrong";
      error.textContent = text;
      error.id = "wrong-" + crypto.randomUUID();
      const place = input?.closest("fieldset, .field");
      if (place) place.append(error);
      else form.prepend(error);
      input?.setAttribute("aria-invalid", "true");
      input?.setAttribute("aria-errormessage", error.id);
      first ??= input;
    }
    first?.focus();
  };
  const send = async (form, submitter) => {
    say("");
    unmark(form);
    const body = JSON.stringify(Object.fromEntries(new FormData(form, submitter)));
    const response = await fetch(form.action, {
      method: "POST", body, headers: { "content-type": "application/json", accept: "application/json" },
    });
    const answer = await response.json();
    if (!response.ok) {
      if (response.status === 401 && form.dataset.act !== "sign-in") return location.reload();
      if (answer.errors) mark(form, answer.errors);
      const text = answer.detail ?? "The server answered " + response.status;
      return say(text.charAt(0).toUpperCase() + text.slice(1) + ". " + (answer.hint ?? ""), true);
    }
    if (answer.to !== undefined) return location.assign(new URL(root + answer.to, location.href));
    delete form.dataset.dirty;
    form.closest("details")?.removeAttribute("open");
    say(answer.said ?? "Done.");
    if ("shows" in form.dataset) return;
    form.reset();
    await refresh({ isForced: true });
    if ("follows" in document.body.dataset) begin();
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.dataset.act === undefined) return;
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    try {
      await send(form, event.submitter);
    } catch (error) {
      say("The answer did not come: " + error.message + " Look at the page anew before you send it again.", true);
    } finally {
      form.removeAttribute("aria-busy");
    }
  });
  document.addEventListener("input", ({ target }) => {
    const form = target.closest?.("form[data-act]");
    if (form) form.dataset.dirty = "";
  });

  /* A link may bring an API key behind its "#", which only this page sees */
  const key = document.getElementById("key");
  if (key && location.hash.startsWith("#lok_")) {
    key.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname + location.search);
    key.form.querySelector("button").focus();
  }
  if (key && !isSecureContext) say("This page came by http. A session needs https, or localhost.", true);

  note();
  showTimes();
})();
`;
