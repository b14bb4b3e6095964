"use strict";
// Says the time under the pointer in maps that are pictures, opens what a link leads to, and unfolds for print what was measured.
(() => {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  document.body.append(tip);

  for (const image of document.querySelectorAll("image[data-low]")) {
    // The small map at the head shows what the first large one does.
    const times = (image.dataset.codes ? image : document.querySelector("image[data-codes]")).dataset;
    const names = times.names.split("|");
    const low = Number(times.low), step = Number(times.step);
    const n = names.length;
    let codes;
    image.addEventListener("pointermove", (event) => {
      codes ??= Uint8Array.from(atob(times.codes), (c) => c.charCodeAt(0));
      const box = image.getBoundingClientRect();
      const column = Math.min(n - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * n)));
      const row = Math.min(n - 1, Math.max(0, Math.floor(((event.clientY - box.top) / box.height) * n)));
      const i = Math.min(row, column), j = Math.max(row, column);
      const at = 2 * ((i * (2 * n - i - 1)) / 2 + (j - i - 1));
      const code = i === j ? 0 : codes[at] | (codes[at + 1] << 8);
      const ns = low * Math.exp((code - 1) * step);
      const digits = ns >= 99.95 ? 0 : ns >= 9.995 ? 1 : 2;
      const said = i === j ? "the same CPU" : code === 0 ? "not measured" : `${ns.toFixed(digits)} ns`;
      tip.textContent = i === j ? `${names[i]}: ${said}` : `${names[row]} and ${names[column]}: ${said}`;
      tip.hidden = false;
      tip.style.left = `${Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 4)}px`;
      tip.style.top = `${event.clientY + 14}px`;
    });
    image.addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  const reveal = () => {
    let element = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const target = element;
    for (; element; element = element.parentElement) if (element.tagName === "DETAILS") element.open = true;
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll(".measured > details:not([open])")];
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
