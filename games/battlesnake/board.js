// Draws Battlesnake frames (see engine.frame) on a canvas. Colours are told apart by the colour-blind; every seat has
// a head shape of its own as well, so that nothing depends on colour alone.

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"];
const SHAPES = ["circle", "square", "triangle", "diamond"];
const INK = "#222222", PAPER = "#f7f7f5", LINE = "#dddddd", FOOD = "#d55e00", HAZARD = "#555555";
const MARGIN = 4;

export const legend = [
  ...COLOURS.map((colour, seat) => ({ label: `seat ${seat}`, colour, shape: SHAPES[seat] })),
  { label: "food", colour: FOOD, shape: "cross" },
  { label: "hazard", colour: HAZARD, shape: "hatch" },
];

let size = 0; // pixels a square

export function setup(ctx, frame0) {
  const { width, height } = ctx.canvas;
  size = Math.floor(Math.min((width - 2 * MARGIN) / frame0.width, (height - 2 * MARGIN) / frame0.height));
}

// `t` from 0 to 1 moves heads and tails from where they were in `prev` (null: no movement) to where they are in `frame`.
export function draw(ctx, frame, prev, t) {
  ctx.fillStyle = PAPER;
  ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
  const at = ([x, y]) => [MARGIN + (x + 0.5) * size, MARGIN + (frame.height - y - 0.5) * size];
  grid(ctx, frame);
  for (const point of frame.hazards) hatch(ctx, at(point));
  for (const point of frame.food) cross(ctx, at(point));
  frame.snakes.forEach((snake, seat) => {
    if (snake.body.length) drawSnake(ctx, snake, prev && prev.snakes[seat], seat, at, t);
  });
}

function drawSnake(ctx, snake, before, seat, at, t) {
  const body = snake.body.map(at);
  if (before && before.body.length) {
    const [head, tail] = [at(before.body[0]), at(before.body[before.body.length - 1])];
    const last = body.length - 1;
    if (near(head, body[0])) body[0] = between(head, body[0], t);
    if (last > 0 && near(tail, body[last])) body[last] = between(tail, body[last], t);
  }
  ctx.globalAlpha = snake.cause ? 0.35 : 1;
  ctx.strokeStyle = ctx.fillStyle = COLOURS[seat];
  ctx.lineWidth = size * 0.55;
  ctx.lineJoin = ctx.lineCap = "round";
  ctx.beginPath();
  body.forEach((point, i) => (i && near(body[i - 1], point) ? ctx.lineTo(...point) : ctx.moveTo(...point)));
  ctx.stroke();
  head(ctx, body[0], SHAPES[seat]);
  ctx.globalAlpha = 1;
}

function head(ctx, [x, y], shape) {
  const r = size * 0.42;
  ctx.beginPath();
  if (shape === "circle") ctx.arc(x, y, r, 0, 2 * Math.PI);
  else polygon(ctx, x, y, r, { square: [4, Math.PI / 4], triangle: [3, -Math.PI / 2], diamond: [4, 0] }[shape]);
  ctx.fill();
  ctx.strokeStyle = INK;
  ctx.lineWidth = Math.max(1, size * 0.06);
  ctx.stroke();
}

function polygon(ctx, x, y, r, [corners, turn]) {
  for (let i = 0; i < corners; i++) {
    const angle = turn + (2 * Math.PI * i) / corners;
    ctx[i ? "lineTo" : "moveTo"](x + 1.2 * r * Math.cos(angle), y + 1.2 * r * Math.sin(angle));
  }
  ctx.closePath();
}

function grid(ctx, frame) {
  ctx.strokeStyle = LINE;
  ctx.lineWidth = 1;
  for (let x = 0; x < frame.width; x++)
    for (let y = 0; y < frame.height; y++) ctx.strokeRect(MARGIN + x * size, MARGIN + y * size, size, size);
}

function cross(ctx, [x, y]) {
  const r = size * 0.2;
  strokes(ctx, FOOD, size * 0.14, [[x - r, y, x + r, y], [x, y - r, x, y + r]]);
}

function hatch(ctx, [x, y]) {
  const r = size / 2;
  strokes(ctx, HAZARD, 1, [[x - r, y, x, y - r], [x - r, y + r, x + r, y - r], [x, y + r, x + r, y]]);
}

function strokes(ctx, colour, width, lines) {
  ctx.strokeStyle = colour;
  ctx.lineWidth = Math.max(1, width);
  ctx.beginPath();
  for (const [x0, y0, x1, y1] of lines) {
    ctx.moveTo(x0, y0);
    ctx.lineTo(x1, y1);
  }
  ctx.stroke();
}

// Neighbours on the board; a step over a joined edge is not drawn as a line across it.
const near = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) <= size * 1.01;
const between = (a, b, t) => [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
