const specs = JSON.parse(document.getElementById("charts").textContent);
const drawn = new Set();
const STEP = 24;
const MARGIN = 60;

function draw(box) {
  if (drawn.has(box)) return Promise.resolve();
  drawn.add(box);
  const { shape, values } = specs.charts[box.id];
  const spec = { ...specs.shapes[shape], data: { values } };
  const wide = { name: "containerWidth", value: box.clientWidth };
  const options = {
    actions: false,
    ast: true,
    config: specs.config,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };
  return window
    .vegaEmbed(box, { ...spec, params: [wide] }, options)
    .then(({ view }) => {
      box.style.minHeight = "";
      new ResizeObserver(() => view.signal("containerWidth", box.clientWidth).resize().runAsync()).observe(box);
    })
    .catch((error) => {
      box.textContent = "The chart could not be drawn; the table below holds the same numbers.";
      console.error(box.id, error);
    });
}

const boxes = [...document.querySelectorAll(".chart")];
const seen = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  },
  { rootMargin: "400px" },
);
for (const box of boxes) {
  box.style.minHeight = `${Number(box.dataset.rows) * STEP + MARGIN}px`;
  seen.observe(box);
}

/* A print begins at once and waits for no promise: what was not seen yet is drawn while the page is idle.
   What is behind a closed line is not printed, and waits until the line is opened. */
const idle = window.requestIdleCallback ?? ((work) => setTimeout(work, 200));
const open = (box) => !box.closest("details:not([open])");
function next() {
  const box = boxes.find((candidate) => !drawn.has(candidate) && open(candidate));
  if (box) draw(box).then(() => idle(next));
  else document.documentElement.dataset.charts = "drawn";
}
idle(next);
addEventListener("toggle", () => idle(next), true);
window.addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details.printed")) part.open = true;
  boxes.filter(open).forEach(draw);
  for (const picture of document.images) picture.loading = "eager";
});

/* A link into a closed disclosure opens it, and those around it. */
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.closest("details:not([open])")) return;
  for (let closed; (closed = target.closest("details:not([open])")); ) closed.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

/* What is said of a picture is written once; the pointer gets it too. */
addEventListener("pointerover", ({ target }) => {
  if (target instanceof HTMLImageElement && !target.title) target.title = target.alt;
});

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement;
  const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});

const links = new Map([...document.querySelectorAll(".contents a")].map((a) => [a.hash.slice(1), a]));
const sections = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
const mark = () => {
  const above = sections.filter((section) => section.getBoundingClientRect().top <= innerHeight / 4);
  const current = (above.at(-1) ?? sections[0])?.id;
  for (const [id, link] of links) {
    if (id === current) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
};
let waiting = false;
addEventListener(
  "scroll",
  () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      mark();
    });
  },
  { passive: true },
);
mark();
