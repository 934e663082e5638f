// Draws one frame of a Core War replay on a 2D canvas: the core as a grid of blocks in the colour of their owner, the
// place where each warrior executes next as a numbered white disc, and the processes of each below.

// Okabe and Ito's colours, which colour-blind eyes can tell apart.
const COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999"];
const EMPTY = "#1b1f2a";
const SHELF = 22; // height of a warrior's line below the core

/** What is on the picture; colours are those of the seats, in their order. */
export const legend = [
  ...COLOURS.map((colour, seat) => ({ colour, label: `seat ${seat}: cells it wrote last` })),
  { colour: "#ffffff", label: "where a warrior executes next, with the number of its seat" },
];

let grid = { columns: 1, rows: 1, cell: 1 };

/** Fits the grid into the canvas; call once, with the first frame, before drawing. */
export function setup(ctx, frame0) {
  const blocks = frame0.owners.length;
  const width = ctx.canvas.width;
  const height = Math.max(1, ctx.canvas.height - SHELF * frame0.processes.length);
  const columns = Math.max(1, Math.ceil(Math.sqrt((blocks * width) / height)));
  const rows = Math.ceil(blocks / columns);
  grid = { columns, rows, cell: Math.max(1, Math.min(width / columns, height / rows)) };
}

/** Draws `frame`; `prev` (or null) and `t` from 0 to 1 fade in the blocks that changed hands since. */
export function draw(ctx, frame, prev, t) {
  ctx.globalAlpha = 1;
  ctx.fillStyle = EMPTY;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  for (let index = 0; index < frame.owners.length; index += 1) {
    const now = frame.owners[index];
    const before = prev ? prev.owners[index] : now;
    if (before !== now) {
      block(ctx, index, before, 1);
    }
    block(ctx, index, now, before === now ? 1 : t);
  }
  ctx.globalAlpha = 1;
  frame.heads.forEach((head, seat) => marker(ctx, head, seat));
  frame.processes.forEach((count, seat) => shelf(ctx, frame, seat, count));
}

function block(ctx, index, owner, alpha) {
  if (owner === ".") {
    return;
  }
  const { columns, cell } = grid;
  ctx.globalAlpha = alpha;
  ctx.fillStyle = COLOURS[Number(owner) % COLOURS.length];
  ctx.fillRect((index % columns) * cell, Math.floor(index / columns) * cell, cell * 0.92, cell * 0.92);
}

function marker(ctx, head, seat) {
  if (head < 0) {
    return;
  }
  const { columns, cell } = grid;
  const x = ((head % columns) + 0.5) * cell;
  const y = (Math.floor(head / columns) + 0.5) * cell;
  ctx.fillStyle = "#ffffff";
  ctx.beginPath();
  ctx.arc(x, y, Math.max(7, cell * 0.5), 0, 2 * Math.PI);
  ctx.fill();
  ctx.fillStyle = "#000000";
  ctx.font = "bold 11px sans-serif";
  ctx.fillText(String(seat), x - 3, y + 4);
}

function shelf(ctx, frame, seat, count) {
  const top = grid.rows * grid.cell + SHELF * seat;
  const state = count ? `${count} process${count === 1 ? "" : "es"}` : "dead";
  const score = frame.scores ? `, score ${frame.scores[seat]}` : "";
  const cycle = seat === 0 ? `, cycle ${frame.cycle}` : "";
  ctx.fillStyle = COLOURS[seat % COLOURS.length];
  ctx.fillRect(4, top + 5, 12, 12);
  ctx.font = "13px sans-serif";
  ctx.fillText(`seat ${seat}: ${state}${score}${cycle}`, 22, top + 16);
}
