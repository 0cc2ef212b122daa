// Filters as you type.  Without this script the form does the same, one page load at a time.
"use strict";
(() => {
  const form = document.getElementById("filter");
  const box = document.getElementById("q");
  let latest = 0;
  let timer = 0;

  async function refresh() {
    const mine = ++latest;
    const address = box.value ? "./?" + new URLSearchParams({ q: box.value }) : "./";
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok || mine !== latest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.getElementById("sessions").replaceWith(page.getElementById("sessions"));
    history.replaceState(null, "", address);
  }

  box.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, 150);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    refresh();
  });
})();
