"use strict";
for (const box of document.querySelectorAll("input[data-hides]")) {
  const update = () => document.getElementById(box.dataset.hides).classList.toggle("hide-splits", !box.checked);
  box.addEventListener("change", update);
  update();
}
for (const box of document.querySelectorAll("input[data-filters]")) {
  const rows = [...document.querySelectorAll(`#${box.dataset.filters} tbody tr`)];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const count = document.getElementById(`${box.dataset.filters}-count`);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, i) => {
      row.hidden = !words.every((word) => texts[i].includes(word));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = `${shown} of ${rows.length} problems`;
  });
}
