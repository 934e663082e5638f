"use strict"; function draw(context, frame) { context.fillText(frame.scores.join(" "), 10, 10); }
