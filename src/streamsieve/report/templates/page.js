// The page around the tables: light or dark, tooltips, saving of pictures. Everything is in this file: no network.

// Light, dark, or as the system has it.
const themes = ["auto", "light", "dark"];
const themeButton = document.getElementById("theme");
function remembered(theme) { // a page that was opened as a file may have no storage
  try {
    if (theme) localStorage.setItem("streamsieve-theme", theme);
    return localStorage.getItem("streamsieve-theme");
  } catch { return theme; }
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  themeButton.textContent = `Theme: ${theme}`;
}
themeButton.hidden = false;
setTheme(themes.includes(remembered()) ? remembered() : "auto");
themeButton.addEventListener("click", () => {
  const next = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
  remembered(next);
  setTheme(next);
});

// Tooltips: whatever has data-tip shows it under the pointer; in a picture the arrow keys go from mark to mark.
const tip = document.getElementById("tip");
function showTip(target, x, y) {
  tip.textContent = target.dataset.tip;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, x + 12), innerWidth - width - 8);
  const top = y + 16 + height > innerHeight ? y - height - 10 : y + 16;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(Math.max(8, top))}px)`;
}
function hideTip() { tip.hidden = true; }
document.addEventListener("pointermove", (event) => {
  const target = event.target.closest?.("[data-tip]");
  if (target) showTip(target, event.clientX, event.clientY);
  else hideTip();
});
document.addEventListener("pointerleave", hideTip);
addEventListener("scroll", hideTip, { passive: true, capture: true });

for (const picture of document.querySelectorAll("svg.chart")) {
  const marks = [...picture.querySelectorAll(".mark")];
  for (const mark of marks) { // the browser's own tooltip would show the same a second time
    mark.querySelector(":scope > title")?.remove();
    mark.setAttribute("aria-label", mark.dataset.tip ?? "");
  }
  if (!marks.length) continue;
  picture.setAttribute("tabindex", "0");
  let current = -1;
  const point = (at) => {
    marks[current]?.classList.remove("current");
    current = at;
    marks[current]?.classList.add("current");
    if (current < 0) return hideTip();
    const box = marks[current].getBoundingClientRect();
    showTip(marks[current], box.x + box.width / 2, box.y + box.height / 2);
  };
  picture.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") point(-1);
    if (!step) return;
    event.preventDefault();
    point(current < 0 ? 0 : (current + step + marks.length) % marks.length);
  });
  picture.addEventListener("focus", () => { if (picture.matches(":focus-visible")) point(0); });
  picture.addEventListener("blur", () => point(-1));
}

// Saving: the picture as it is seen, with every style written into it, so that other programs show it alike.
const PAINTED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "font-style", "text-anchor", "dominant-baseline", "visibility"];
const SCALE = 2; // pixels of a PNG for one of the picture
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const originals = [picture, ...picture.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((part, at) => {
    const style = getComputedStyle(originals[at]);
    for (const name of PAINTED) part.setAttribute(name, style.getPropertyValue(name).replaceAll('"', "'"));
    for (const name of ["class", "style", "tabindex", "data-tip"]) part.removeAttribute(name);
  });
  const { x, y, width, height } = picture.viewBox.baseVal;
  const paperColour = getComputedStyle(document.body).backgroundColor;
  const back = document.createElementNS(copy.namespaceURI, "rect");
  for (const [name, value] of Object.entries({ x, y, width, height, fill: paperColour })) back.setAttribute(name, value);
  copy.prepend(back);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}
function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
async function save(figure, kind) {
  const name = `${figure.id.replace("picture-", "")}.${kind}`;
  const { text, width, height } = standalone(figure.querySelector("svg.chart"));
  const drawing = new Blob([text], { type: "image/svg+xml" });
  if (kind === "svg") return download(drawing, name);
  const image = new Image(), url = URL.createObjectURL(drawing);
  image.src = url;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: width * SCALE, height: height * SCALE });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  canvas.toBlob((blob) => download(blob, name), "image/png");
}
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-save]");
  if (button) save(button.closest("figure"), button.dataset.save);
});
