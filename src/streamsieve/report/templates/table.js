// Tables of any length: only the rows that can be seen are in the page.
// A table's data is columns in JSON: {n, caption, unit, columns: [{title, kind, values, ...}]}, kinds as in tables.py.
// Data becomes text by textContent alone, never markup.

const ROW = 34; // pixels, as --row in the style
const AROUND = 8; // rows beyond what is visible, above and below
const MAX_PRINTED = 1000;
const MIN_FILTERED = 8; // rows of a table that can be filtered
const MANY = 20000; // rows from which text is compared by code points, which is faster than by language

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const grouped = new Intl.NumberFormat("en-US");

// What a cell of a column shows.
function textOf(column, row) {
  const value = column.values[row];
  if (value === null || value === undefined) return "–";
  switch (column.kind) {
    case "text": return value;
    case "level": return value < 0 ? "–" : column.levels[value];
    case "integer": return column.plain ? String(value) : grouped.format(value);
    case "percent": return (100 * value).toFixed(column.digits ?? 2) + "%";
    case "fraction": return (100 * value).toFixed(0) + "%";
    default: {
      const text = column.decimals === null ? String(value) : value.toFixed(column.decimals);
      return column.kind === "weight" && value > 0 ? "+" + text : text;
    }
  }
}

const isText = (column) => column.kind === "text" || column.kind === "level";

// A small bar beside a number: signed from the middle, a fraction from the left.
function barOf(column, value) {
  const bar = element("i");
  if (column.kind === "fraction") {
    bar.style.width = `${100 * value}%`;
  } else {
    const width = column.largest ? (50 * Math.abs(value)) / column.largest : 0;
    bar.style.width = `${width}%`;
    bar.style.left = value < 0 ? `${50 - width}%` : "50%";
  }
  return element("span", { class: `small-bar ${column.kind}`, "aria-hidden": "true" }, bar);
}

class Table {
  constructor(host, spec) {
    Object.assign(this, spec, { host, sorted: null, descending: false, printing: false });
    this.order = Uint32Array.from({ length: this.n }, (_, row) => row);
    this.view = this.order;
    for (const column of this.columns) {
      if (column.kind === "weight") column.largest = column.values.reduce((most, one) => Math.max(most, Math.abs(one ?? 0)), 0);
    }
    this.build();
    this.draw();
  }

  build() {
    this.count = element("span", { class: "count", role: "status" });
    const tools = element("div", { class: "table-tools" });
    if (this.columns.some(isText) && this.n >= MIN_FILTERED) tools.append(this.filterBox(), ...this.levelBoxes());
    tools.append(this.count);
    this.head = element("tr");
    this.columns.forEach((column, at) => this.head.append(this.title(column, at)));
    this.body = element("tbody");
    const widths = this.columns.map((column) => this.widthOf(column));
    const cols = element("colgroup", {}, ...widths.map((width, at) => {
      const col = element("col");
      if (this.columns[at].kind !== "text" || at) col.style.width = `${width}ch`; // the first text takes what is left
      return col;
    }));
    this.table = element("table", { "aria-rowcount": this.n + 1 },
      element("caption", { class: "hidden" }, this.caption), cols, element("thead", {}, this.head), this.body);
    this.table.style.minWidth = `${widths.reduce((sum, width) => sum + width, 0)}ch`;
    this.scroller = element("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": this.caption }, this.table);
    let waiting = false;
    this.scroller.addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; this.draw(); });
    });
    this.host.append(tools, this.scroller);
  }

  // Columns have fixed widths, from their longest texts, so that nothing moves while rows come and go.
  widthOf(column) {
    const bar = column.kind === "weight" ? 14 : column.kind === "fraction" ? 10 : 0;
    let longest = column.title.length + 2;
    const step = Math.max(1, Math.floor(this.n / 500));
    for (let row = 0; row < this.n; row += step) longest = Math.max(longest, this.shown(column, row).length);
    return Math.min(Math.max(longest, 5), column.kind === "text" ? 28 : 18) + bar + 3;
  }

  shown(column, row) {
    const more = column.more?.[row];
    return more ? `${textOf(column, row)} ${more}` : textOf(column, row);
  }

  title(column, at) {
    const button = element("button", { type: "button" }, column.title, element("span", { class: "arrow", "aria-hidden": "true" }));
    button.addEventListener("click", () => this.sortBy(at));
    const cell = element("th", { scope: "col", "aria-sort": "none", class: isText(column) ? "" : "number" }, button);
    if (column.tip) cell.dataset.tip = column.tip;
    return cell;
  }

  filterBox() {
    this.wanted = element("input", { type: "search", placeholder: `Filter ${this.unit}`, "aria-label": `Filter ${this.unit}` });
    this.wanted.addEventListener("input", () => this.filter());
    return this.wanted;
  }

  levelBoxes() {
    const some = this.columns.filter((column) => column.kind === "level" && column.levels.length > 1 && column.levels.length <= 50);
    this.levels = some.map((column) => {
      const box = element("select", { "aria-label": `Only ${column.title}` }, element("option", { value: "" }, `${column.title}: all`));
      column.levels.forEach((level, code) => box.append(element("option", { value: String(code) }, level)));
      box.addEventListener("change", () => this.filter());
      return { column, box };
    });
    return this.levels.map(({ box }) => box);
  }

  sortBy(at) {
    const column = this.columns[at];
    this.descending = this.sorted === at ? !this.descending : !isText(column);
    this.sorted = at;
    const sign = this.descending ? -1 : 1;
    const { values } = column;
    const language = new Intl.Collator("en", { numeric: true });
    const compare = column.kind !== "text" ? (a, b) => a - b
      : this.n < MANY ? language.compare : (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    const missing = (value) => value === null || value === undefined;
    this.order = Uint32Array.from({ length: this.n }, (_, row) => row).sort((a, b) => {
      const x = values[a], y = values[b];
      if (missing(x) || missing(y)) return missing(x) - missing(y); // what is missing comes last, either way
      return sign * compare(x, y);
    });
    [...this.head.children].forEach((cell, other) =>
      cell.setAttribute("aria-sort", other !== at ? "none" : this.descending ? "descending" : "ascending"));
    this.filter();
  }

  filter() {
    const wanted = (this.wanted?.value ?? "").trim().toLowerCase();
    const chosen = (this.levels ?? []).filter(({ box }) => box.value !== "").map(({ column, box }) => [column.values, Number(box.value)]);
    const texts = this.columns.filter(isText).map((column) => {
      column.lower ??= (column.levels ?? column.values).map((text) => (text ?? "").toLowerCase());
      return column;
    });
    const fits = (row) =>
      chosen.every(([values, code]) => values[row] === code) &&
      (!wanted || texts.some((column) => (column.lower[column.levels ? column.values[row] : row] ?? "").includes(wanted)));
    this.view = wanted || chosen.length ? this.order.filter(fits) : this.order;
    this.scroller.scrollTop = 0;
    this.draw();
  }

  draw() {
    const all = this.view.length;
    const visible = Math.ceil((this.scroller.clientHeight || 500) / ROW);
    const first = this.printing ? 0 : Math.max(0, Math.min(Math.floor(this.scroller.scrollTop / ROW) - AROUND, all - visible));
    const stop = this.printing ? Math.min(all, MAX_PRINTED) : Math.min(all, first + visible + 2 * AROUND);
    const rows = [];
    if (first > 0) rows.push(this.space(first));
    for (let at = first; at < stop; at++) rows.push(this.row(at));
    if (stop < all && !this.printing) rows.push(this.space(all - stop));
    if (!all) rows.push(element("tr", {}, element("td", { colspan: this.columns.length, class: "nothing" }, "Nothing fits the filter.")));
    this.body.replaceChildren(...rows);
    const part = this.printing && stop < all ? `the first ${grouped.format(stop)} of ` : "";
    const filtered = all < this.n ? `${grouped.format(all)} of ` : "";
    this.count.textContent = `${part}${filtered}${grouped.format(this.n)} ${this.unit}`;
  }

  space(rows) {
    const cell = element("td", { colspan: this.columns.length });
    cell.style.height = `${rows * ROW}px`;
    return element("tr", { class: "space", "aria-hidden": "true" }, cell);
  }

  row(at) {
    const row = this.view[at];
    const line = element("tr", { class: "line", "aria-rowindex": at + 2 });
    for (const column of this.columns) line.append(this.cell(column, row));
    return line;
  }

  cell(column, row) {
    const text = this.shown(column, row), value = column.values[row];
    const cell = element("td", { class: isText(column) ? "" : "number" });
    if (column.bold?.[row]) cell.classList.add("best");
    if (isText(column)) {
      cell.append(element("bdi", {}, text));
      if (text.length > 24) cell.dataset.tip = text;
    } else {
      if ((column.kind === "weight" || column.kind === "fraction") && value !== null) cell.append(barOf(column, value));
      cell.append(text);
    }
    return cell;
  }

  print(printing) {
    this.printing = printing;
    this.draw();
  }
}

const tables = [...document.querySelectorAll("[data-table]")].map(
  (host) => new Table(host, JSON.parse(document.getElementById(host.dataset.table).textContent)));
const paper = matchMedia("print");
const print = (printing) => tables.forEach((table) => table.print(printing));
paper.addEventListener("change", () => print(paper.matches));
addEventListener("beforeprint", () => print(true));
addEventListener("afterprint", () => print(false));
