"use strict";
// The list of findings: shows the rows that contain what was typed.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const rows = [...document.querySelectorAll("#findings tbody tr")];
  const shown = document.getElementById("shown");
  const apply = () => {
    const object = form.elements.object.value.trim().toLowerCase();
    const number = form.elements.number.value;
    const rootsOnly = form.elements.roots.checked;
    let count = 0;
    for (const row of rows) {
      const fits = (!object || row.dataset.object.toLowerCase().includes(object))
        && (!number || row.dataset.number === number)
        && (!rootsOnly || !row.classList.contains("derived"));
      row.hidden = !fits;
      count += fits ? 1 : 0;
    }
    shown.textContent = `${count} of ${rows.length} shown`;
  };
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  apply();
})();

// The map: one square per cell, in file order, coloured by its owner or by what is wrong in it.
(() => {
  const element = document.getElementById("map-data");
  if (!element) return;
  const map = JSON.parse(element.textContent);
  const style = () => getComputedStyle(document.documentElement);
  const colour = (owner, byFault) => {
    if (owner.kind !== "object") return style().getPropertyValue(`--${owner.kind}`);
    return byFault ? style().getPropertyValue("--free") : owner.colour;
  };
  const layout = (file) => {
    const cells = Math.max(1, Math.ceil(file.extents / map.per_cell));
    const columns = Math.min(256, Math.max(32, Math.ceil(Math.sqrt(cells * 4))));
    return { cells, columns, size: Math.floor(1024 / columns), rows: Math.ceil(cells / columns) };
  };
  const draw = (file, byFault) => {
    const canvas = document.getElementById(`map-${file.id}`);
    const { columns, size, rows } = layout(file);
    canvas.width = columns * size;
    canvas.height = rows * size;
    const pen = canvas.getContext("2d");
    const square = (cell, grow) => pen.fillRect(
      (cell % columns) * size - grow, Math.floor(cell / columns) * size - grow,
      size - (size > 4 ? 1 : 0) + 2 * grow, size - (size > 4 ? 1 : 0) + 2 * grow);
    for (const [first, count, owner] of file.runs) {
      pen.fillStyle = colour(map.owners[owner], byFault);
      const end = Math.ceil((first + count) / map.per_cell);
      for (let cell = Math.floor(first / map.per_cell); cell < end; cell += 1) square(cell, 0);
    }
    for (const [first, root] of file.faults) {
      const cell = Math.floor(first / map.per_cell);
      pen.fillStyle = style().getPropertyValue("--ground");
      square(cell, 1);
      pen.fillStyle = style().getPropertyValue(root > 0 ? "--fault" : "--derived");
      square(cell, 0);
    }
  };
  const runAt = (file, extent) => {
    let low = 0;
    let high = file.runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (file.runs[middle][0] <= extent) low = middle + 1; else high = middle;
    }
    return file.runs[low - 1];
  };
  const tell = (file, event) => {
    const { columns, rows, cells } = layout(file);
    const box = event.currentTarget.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / box.width * columns);
    const row = Math.floor((event.clientY - box.top) / box.height * rows);
    const cell = row * columns + column;
    if (cell < 0 || cell >= cells || column >= columns) return;
    const extent = cell * map.per_cell;
    const last = Math.min(file.extents, extent + map.per_cell) * 8 - 1;
    const run = runAt(file, extent);
    const fault = file.faults.find(([first]) => first === extent);
    const owner = run ? map.owners[run[2]].name : "";
    const wrong = fault ? `, findings: ${fault[1] + fault[2]}` : "";
    document.getElementById("map-place").textContent =
      `pages (${file.id}:${extent * 8}) to (${file.id}:${last}): ${owner}${wrong}`;
  };
  const redraw = () => {
    const byFault = document.querySelector("input[name=map-by]:checked").value === "fault";
    for (const file of map.files) draw(file, byFault);
  };
  for (const file of map.files) {
    document.getElementById(`map-${file.id}`).addEventListener("mousemove", (event) => tell(file, event));
  }
  for (const choice of document.querySelectorAll("input[name=map-by]")) choice.addEventListener("change", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  redraw();
})();
