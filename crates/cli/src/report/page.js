"use strict";
// Draws the page's charts in the page's colours, and again when theme, paper, width or a switch changes.
(() => {
  const root = document.documentElement;
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const config = { responsive: false, displaylogo: false, displayModeBar: false };
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function themed(layout) {
    const axis = (given) => ({ ...given, gridcolor: colour("--line"), linecolor: colour("--line"), zerolinecolor: colour("--line") });
    return {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: colour("--text") },
      hoverlabel: { align: "left", bgcolor: colour("--panel"), bordercolor: colour("--line"), font: { color: colour("--text") } },
      xaxis: axis(layout.xaxis),
      yaxis: axis(layout.yaxis),
    };
  }

  // A view's times as a triangle, NaN where not measured.
  function times(view) {
    const bytes = Uint8Array.from(atob(view.codes), (c) => c.charCodeAt(0));
    const n = bytes.length / view.width;
    const ns = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const code = view.width === 2 ? bytes[2 * i] | (bytes[2 * i + 1] << 8) : bytes[i];
      ns[i] = code === 0 ? NaN : view.low * Math.exp((code - 1) * view.step);
    }
    return ns;
  }

  function digits(ns) {
    return ns >= 99.95 ? ns.toFixed(0) : ns >= 9.995 ? ns.toFixed(1) : ns.toFixed(2);
  }

  // Fills the heat map's trace from the view and order that are chosen.
  function heat(chart, width) {
    const { labels, views, orders, figures } = chart.heat;
    const view = views[chart.view || 0];
    const order = orders[chart.order || 0];
    view.ns ??= times(view);
    const n = labels.length;
    const at = (i, j) => view.ns[(i * (2 * n - i - 1)) / 2 + (j - i - 1)];
    const z = [], text = [];
    for (const i of order.cells) {
      const row = [], said = [];
      for (const j of order.cells) {
        const ns = i === j ? NaN : at(Math.min(i, j), Math.max(i, j));
        row.push(Number.isNaN(ns) ? null : Math.log10(ns));
        said.push(Number.isNaN(ns) ? "not measured" : `${digits(ns)} ns`);
      }
      z.push(row);
      text.push(said);
    }
    const names = order.cells.map((cell) => labels[cell]);
    const phone = width < 500;
    const bar = phone
      ? { orientation: "h", x: 0.5, y: -0.02, yanchor: "top", len: 1, title: { text: "ns", side: "top" } }
      : { len: 1, y: 0.5 };
    const trace = {
      ...chart.data[0], x: names, y: names, z, customdata: text, zmin: view.zmin, zmax: view.zmax, showscale: !view.flat,
      colorbar: { ...chart.data[0].colorbar, ...bar, tickvals: view.ticks, ticktext: view.texts, outlinewidth: 0 },
    };
    if (figures) Object.assign(trace, { text: z.map((row) => row.map((v) => (v === null ? "" : digits(10 ** v)))), texttemplate: "%{text}" });
    const lines = [];
    for (const level of order.levels) {
      for (const cut of level.cuts) {
        const line = { type: "line", line: { color: "#ffffff", width: level.width }, layer: "above" };
        lines.push({ ...line, x0: cut - 0.5, x1: cut - 0.5, y0: -0.5, y1: n - 0.5 });
        lines.push({ ...line, y0: cut - 0.5, y1: cut - 0.5, x0: -0.5, x1: n - 0.5 });
      }
    }
    const named = !phone || n <= 4;
    const axis = { type: "category", tickvals: order.ticks, ticktext: order.texts, showticklabels: named, automargin: named, ticks: "", constrain: "domain" };
    const side = n <= 4 ? Math.min(width - 110, 260) : Math.min(width - (phone ? 20 : 190), 640);
    return {
      data: [trace],
      height: side + (phone ? 90 : 100),
      width: Math.min(width, side + (named ? 190 : 20)),
      layout: {
        ...chart.layout,
        ...(phone && { margin: { l: 10, r: 10, t: 10, b: 60 } }),
        shapes: lines,
        xaxis: { ...chart.layout.xaxis, ...axis, tickangle: n <= 4 ? 0 : 60 },
        yaxis: { ...chart.layout.yaxis, ...axis, autorange: "reversed", scaleanchor: "x" },
      },
    };
  }

  function draw(id) {
    const chart = charts[id];
    const place = document.getElementById(id);
    chart.height ??= parseInt(place.style.minHeight, 10);
    const width = place.clientWidth;
    const filled = chart.heat
      ? heat(chart, width)
      : { data: chart.data, layout: chart.layout, width, height: chart.height + (width < 500 ? 16 * chart.data.length : 0) };
    place.style.minHeight = `${filled.height}px`;
    const layout = { ...themed(filled.layout), width: filled.width, height: filled.height };
    return Plotly.react(place, filled.data, layout, config).then(() => {
      if (!chart.drawn) root.dataset.drawn = Number(root.dataset.drawn) + 1;
      chart.drawn = true;
    });
  }

  const all = () => Object.keys(charts).forEach(draw);
  for (const select of document.querySelectorAll("select[data-heat]")) {
    // A browser may remember a choice across a reload.
    const choose = () => { charts[select.dataset.heat][select.dataset.switch] = Number(select.value); };
    choose();
    select.addEventListener("change", () => { choose(); draw(select.dataset.heat); });
  }
  all();
  let pending;
  addEventListener("resize", () => { clearTimeout(pending); pending = setTimeout(all, 150); });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", all);
})();
