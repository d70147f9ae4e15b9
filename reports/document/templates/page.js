// A press on a heading sorts the table by this column. A second press reverses the order.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const heading = button.closest("th");
    const table = heading.closest("table");
    const body = table.tBodies[0];
    const column = heading.cellIndex;
    const ascending = heading.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const key = (row) => {
      const order = row.cells[column].dataset.order;
      const number = Number(order);
      return Number.isNaN(number) ? order : number;
    };
    const rows = [...body.rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      const order = typeof x === typeof y ? (x < y ? -1 : x > y ? 1 : 0) : typeof x === "number" ? -1 : 1;
      return ascending ? order : -order;
    });
    for (const row of rows) {
      row.classList.remove("start");
      body.append(row);
    }
  });
}
